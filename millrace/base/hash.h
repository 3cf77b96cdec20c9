// Fast, well-mixed hashes with the same results on every machine, in every build, for
// ever: row identities are made of them, and draws depend on those. Not cryptographic:
// content is named by sha256.h. Values; a Combine costs a few nanoseconds.
#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace millrace::base {

struct Hash128 {
  uint64_t hi = 0;
  uint64_t lo = 0;

  friend constexpr auto operator<=>(const Hash128&, const Hash128&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const Hash128& hash) {
    return H::combine(std::move(state), hash.hi, hash.lo);
  }
};

// Mixes 64 bits one to one, so that every bit of the result depends on every bit given
// (Stafford's variant 13 of MurmurHash3's finaliser, as in SplitMix64).
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Mixes 128 bits one to one: a Feistel network of four rounds.
constexpr Hash128 Mix128(Hash128 x) {
  x.hi ^= Mix64(x.lo + 0x9e3779b97f4a7c15);
  x.lo ^= Mix64(x.hi + 0x3c6ef372fe94f82a);
  x.hi ^= Mix64(x.lo + 0xdaa66d2c7ddf743f);
  x.lo ^= Mix64(x.hi + 0x78dde6e5fd29f054);
  return x;
}

// Hashes an ordered pair. With either side fixed the other maps one to one, so that
// hash(id, 0), hash(id, 1), ... never meet.
constexpr Hash128 Combine(Hash128 first, Hash128 second) {
  const Hash128 mixed = Mix128(first);
  return Mix128({mixed.hi + second.hi, mixed.lo + second.lo});
}

// Hashes an identity with a number: a repetition, a position, a count.
constexpr Hash128 Combine(Hash128 first, uint64_t second) {
  return Combine(first, Hash128{0x6d696c6c72616365, second});
}

// Prints 32 lower-case hexadecimal digits, hi first.
std::string ToHex(const Hash128& hash);

// Reads what ToHex prints.
absl::StatusOr<Hash128> ParseHash128(std::string_view text);

std::ostream& operator<<(std::ostream& out, const Hash128& hash);

}  // namespace millrace::base
