// A random order of [0, n) that is never stored: position i maps to At(i), one to one,
// in constant memory and 20 to 150 nanoseconds, for n up to 2^62. Chunks of a pass
// are shuffled with it. A value; the same on every machine.
#pragma once

#include <array>
#include <cstdint>

#include "millrace/base/random.h"

namespace millrace::base {

class Permutation {
 public:
  // Requires: 0 <= n <= 2^62.
  Permutation(int64_t n, const RandomKey& key);

  int64_t size() const { return size_; }

  // Returns what stands at `position`. Requires: 0 <= position < size().
  int64_t At(int64_t position) const;

  // Returns the position of `value`. Requires: 0 <= value < size().
  int64_t Inverse(int64_t value) const;

 private:
  static constexpr int kRounds = 8;

  uint64_t Encrypt(uint64_t x) const;
  uint64_t Decrypt(uint64_t x) const;

  int64_t size_;
  int half_bits_;  // The network permutes [0, 2^(2 * half_bits_)).
  std::array<uint64_t, kRounds> round_keys_;
};

}  // namespace millrace::base
