// A number of bytes: sizes, budgets, rates. Arithmetic saturates at the ends of
// int64_t, so that an absurd size from outside stays absurd and fails its comparison
// with a budget, instead of wrapping around to a small one. A value; costs what an
// int64_t does.
//
//   Bytes budget = 2_GiB;
//   if (rows * row_size > budget) ...
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"

namespace millrace::base {

class Bytes {
 public:
  constexpr Bytes() = default;

  constexpr explicit Bytes(int64_t count) : count_(count) {}

  static constexpr Bytes Max() { return Bytes(std::numeric_limits<int64_t>::max()); }

  static constexpr Bytes Min() { return Bytes(std::numeric_limits<int64_t>::min()); }

  constexpr int64_t count() const { return count_; }

  friend constexpr auto operator<=>(Bytes, Bytes) = default;

  friend constexpr Bytes operator+(Bytes a, Bytes b) {
    int64_t sum = 0;
    if (!__builtin_add_overflow(a.count_, b.count_, &sum)) return Bytes(sum);
    return b.count_ > 0 ? Max() : Min();
  }

  friend constexpr Bytes operator-(Bytes a, Bytes b) {
    int64_t difference = 0;
    if (!__builtin_sub_overflow(a.count_, b.count_, &difference)) {
      return Bytes(difference);
    }
    return b.count_ < 0 ? Max() : Min();
  }

  friend constexpr Bytes operator*(Bytes a, int64_t factor) {
    int64_t product = 0;
    if (!__builtin_mul_overflow(a.count_, factor, &product)) return Bytes(product);
    return (a.count_ < 0) == (factor < 0) ? Max() : Min();
  }

  friend constexpr Bytes operator*(int64_t factor, Bytes a) { return a * factor; }

  // Divides, rounding towards zero. Requires: the divisor is not zero.
  friend constexpr Bytes operator/(Bytes a, int64_t divisor) {
    CHECK_NE(divisor, 0);
    return divisor == -1 ? Bytes() - a : Bytes(a.count_ / divisor);
  }

  // Says how many whole `b` fit into `a`. Requires: `b` is not zero.
  friend constexpr int64_t operator/(Bytes a, Bytes b) { return (a / b.count_).count_; }

  // Returns what is left of `a` then. Requires: `b` is not zero.
  friend constexpr Bytes operator%(Bytes a, Bytes b) { return a - b * (a / b); }

  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }

  constexpr Bytes& operator-=(Bytes other) { return *this = *this - other; }

  constexpr Bytes& operator*=(int64_t factor) { return *this = *this * factor; }

  constexpr Bytes& operator/=(int64_t divisor) { return *this = *this / divisor; }

  template <typename H>
  friend H AbslHashValue(H state, Bytes bytes) {
    return H::combine(std::move(state), bytes.count_);
  }

 private:
  int64_t count_ = 0;
};

inline namespace literals {

consteval Bytes operator""_B(unsigned long long n) {
  CHECK_LE(n, std::numeric_limits<int64_t>::max());
  return Bytes(static_cast<int64_t>(n));
}

consteval Bytes operator""_KiB(unsigned long long n) { return 1024 * operator""_B(n); }

consteval Bytes operator""_MiB(unsigned long long n) {
  return 1024 * operator""_KiB(n);
}

consteval Bytes operator""_GiB(unsigned long long n) {
  return 1024 * operator""_MiB(n);
}

consteval Bytes operator""_TiB(unsigned long long n) {
  return 1024 * operator""_GiB(n);
}

}  // namespace literals

// Prints for people, rounded to a tenth of a unit: "512 B", "1.5 MiB".
std::string ToString(Bytes bytes);

std::ostream& operator<<(std::ostream& out, Bytes bytes);

// Reads what people write: "256MiB", "1.5 GiB", "10 GB" (powers of ten), "4096".
// Letter case does not matter; a negative size is an error.
absl::StatusOr<Bytes> ParseBytes(std::string_view text);

}  // namespace millrace::base
