#include "millrace/base/permutation.h"

#include <cstdint>
#include <ranges>

#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/random.h"

namespace millrace::base {
namespace {

// The half width, in bits, of a network over at least `n` numbers: the least that does,
// but never two. Networks on twice two bits reach the orders of few numbers unevenly,
// however many rounds they have; those on twice one and on twice three do not.
int HalfBits(int64_t n) {
  if (n <= 4) return 1;
  int half_bits = 3;
  while (int64_t{1} << (2 * half_bits) < n) ++half_bits;
  return half_bits;
}

}  // namespace

Permutation::Permutation(int64_t n, const RandomKey& key) : size_(n) {
  CHECK_GE(n, 0);
  CHECK_LE(n, int64_t{1} << 62);
  half_bits_ = HalfBits(n);
  Generator generator(key, Hash128{});
  for (uint64_t& round_key : round_keys_) round_key = generator.Next64();
}

// Numbers outside [0, n) are sent through the network again, until one lands inside:
// along a cycle of a permutation one comes back, so this ends and stays one to one.
int64_t Permutation::At(int64_t position) const {
  CHECK_GE(position, 0);
  CHECK_LT(position, size_);
  auto x = static_cast<uint64_t>(position);
  do {
    x = Encrypt(x);
  } while (x >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(x);
}

int64_t Permutation::Inverse(int64_t value) const {
  CHECK_GE(value, 0);
  CHECK_LT(value, size_);
  auto x = static_cast<uint64_t>(value);
  do {
    x = Decrypt(x);
  } while (x >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(x);
}

uint64_t Permutation::Encrypt(uint64_t x) const {
  uint64_t left = x >> half_bits_;
  uint64_t right = x & ((uint64_t{1} << half_bits_) - 1);
  for (const uint64_t round_key : round_keys_) {
    const uint64_t mixed = left ^ (Mix64(right + round_key) >> (64 - half_bits_));
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

uint64_t Permutation::Decrypt(uint64_t x) const {
  uint64_t left = x >> half_bits_;
  uint64_t right = x & ((uint64_t{1} << half_bits_) - 1);
  for (const uint64_t round_key : std::views::reverse(round_keys_)) {
    const uint64_t mixed = right ^ (Mix64(left + round_key) >> (64 - half_bits_));
    right = left;
    left = mixed;
  }
  return left << half_bits_ | right;
}

}  // namespace millrace::base
