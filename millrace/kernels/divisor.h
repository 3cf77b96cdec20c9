// A whole number that many others are divided by: with a product in place of each
// division, which takes several times as long. Exact for every dividend (Granlund and
// Montgomery, Division by Invariant Integers using Multiplication, 1994).
//
// With 2^l the least power that reaches the divisor d, and m = ⌈2^(63+l) / d⌉, the
// quotient of n < 2^63 is m n / 2^(63+l), rounded down. A negative n is turned to its
// complement -1 - n, and so is the quotient then, which rounds down as well.
#pragma once

#include <bit>
#include <cstdint>

#include "absl/numeric/int128.h"

#include "millrace/base/check.h"

namespace millrace::kernels {

class Divisor {
 public:
  // Requires: divisor >= 2.
  explicit Divisor(int64_t divisor)
      : divisor_(divisor),
        shift_(static_cast<int>(std::bit_width(static_cast<uint64_t>(divisor - 1))) -
               1) {
    CHECK_GE(divisor, 2);
    const absl::uint128 power = absl::uint128(1) << (64 + shift_);
    factor_ = absl::Uint128Low64((power + divisor - 1) / divisor);
  }

  // The quotient, rounded down.
  int64_t Quotient(int64_t value) const {
    const int64_t sign = value >> 63;
    const auto magnitude = static_cast<uint64_t>(value ^ sign);
    const uint64_t high = absl::Uint128High64(absl::uint128(factor_) * magnitude);
    return static_cast<int64_t>(high >> shift_) ^ sign;
  }

  // What that leaves: 0, ..., divisor - 1. The product may overflow, and back again.
  int64_t Remainder(int64_t value) const {
    const auto product =
        static_cast<uint64_t>(Quotient(value)) * static_cast<uint64_t>(divisor_);
    return static_cast<int64_t>(static_cast<uint64_t>(value) - product);
  }

 private:
  int64_t divisor_;
  int shift_;
  uint64_t factor_ = 0;
};

}  // namespace millrace::kernels
