// Checks for programmer errors, on in production: a failed one prints file, line, the
// condition and the values compared, flushes the logs and aborts. Use them for
// arguments at a layer's edge and for invariants after a state change; whatever input
// or the world can cause is a Status instead (status.h). A check that holds costs a
// compare.
//
//   CHECK(plan.IsAcyclic()) << "after pruning";
//   CHECK_EQ(offsets.size(), rows + 1);    // Signs may differ: compared as numbers.
#pragma once

#include <concepts>
#include <cstddef>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"

namespace millrace::base {

// Collects what a failed check has to say, and ends the process when destroyed.
class CheckFailure {
 public:
  // Starts the report of `condition`, which failed at `file`:`line`.
  CheckFailure(const char* file, int line, std::string condition);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();

  // Adds to the report.
  template <typename T>
  CheckFailure& operator<<(const T& value) {
    extra_ << value;
    return *this;
  }

 private:
  const char* const file_;
  const int line_;
  const std::string condition_;
  std::ostringstream extra_;
};

// True for the types that std::cmp_less and its kin take.
template <typename T>
concept PlainInteger =
    std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
    !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
    !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

// Writes a value of any type into the report of a failed comparison.
template <typename T>
void PrintChecked(std::ostream& out, const T& value) {
  if constexpr (std::same_as<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::same_as<T, std::nullptr_t>) {
    out << "nullptr";
  } else if constexpr (PlainInteger<T> && sizeof(T) == 1) {
    out << static_cast<int>(value);
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else if constexpr (std::is_enum_v<T>) {
    out << +static_cast<std::underlying_type_t<T>>(value);
  } else {
    out << "a value of " << sizeof(T) << " bytes";
  }
}

// Writes "left == right (3 vs. 4)". The string is never freed: the process is ending.
template <typename Left, typename Right>
[[gnu::cold, gnu::noinline]] const std::string* DescribeComparison(const Left& left,
                                                                   const Right& right,
                                                                   const char* text) {
  std::ostringstream out;
  out << text << " (";
  PrintChecked(out, left);
  out << " vs. ";
  PrintChecked(out, right);
  out << ")";
  return new std::string(out.str());
}

// The six comparisons: null when it holds, else what to report. Integers are compared
// by value, whatever their signs.
#define MILLRACE_DEFINE_CHECK_COMPARISON(Name, op, integer_compare)              \
  template <typename Left, typename Right>                                       \
  constexpr const std::string* Check##Name(const Left& left, const Right& right, \
                                           const char* text) {                   \
    bool holds = false;                                                          \
    if constexpr (PlainInteger<Left> && PlainInteger<Right>) {                   \
      holds = integer_compare(left, right);                                      \
    } else {                                                                     \
      holds = static_cast<bool>(left op right);                                  \
    }                                                                            \
    if (ABSL_PREDICT_TRUE(holds)) return nullptr;                                \
    return DescribeComparison(left, right, text);                                \
  }
MILLRACE_DEFINE_CHECK_COMPARISON(Equal, ==, std::cmp_equal)
MILLRACE_DEFINE_CHECK_COMPARISON(NotEqual, !=, std::cmp_not_equal)
MILLRACE_DEFINE_CHECK_COMPARISON(Less, <, std::cmp_less)
MILLRACE_DEFINE_CHECK_COMPARISON(LessEqual, <=, std::cmp_less_equal)
MILLRACE_DEFINE_CHECK_COMPARISON(Greater, >, std::cmp_greater)
MILLRACE_DEFINE_CHECK_COMPARISON(GreaterEqual, >=, std::cmp_greater_equal)
#undef MILLRACE_DEFINE_CHECK_COMPARISON

}  // namespace millrace::base

// The `while` is an `if` that cannot capture a following `else`; it never loops,
// because a CheckFailure does not return.
#define CHECK(condition)                   \
  while (ABSL_PREDICT_FALSE(!(condition))) \
  ::millrace::base::CheckFailure(__FILE__, __LINE__, #condition)

#define MILLRACE_CHECK_COMPARISON(Name, left, right, text)         \
  while (const ::std::string* millrace_check_failed =              \
             ::millrace::base::Check##Name((left), (right), text)) \
  ::millrace::base::CheckFailure(__FILE__, __LINE__, *millrace_check_failed)

#define CHECK_EQ(a, b) MILLRACE_CHECK_COMPARISON(Equal, a, b, #a " == " #b)
#define CHECK_NE(a, b) MILLRACE_CHECK_COMPARISON(NotEqual, a, b, #a " != " #b)
#define CHECK_LT(a, b) MILLRACE_CHECK_COMPARISON(Less, a, b, #a " < " #b)
#define CHECK_LE(a, b) MILLRACE_CHECK_COMPARISON(LessEqual, a, b, #a " <= " #b)
#define CHECK_GT(a, b) MILLRACE_CHECK_COMPARISON(Greater, a, b, #a " > " #b)
#define CHECK_GE(a, b) MILLRACE_CHECK_COMPARISON(GreaterEqual, a, b, #a " >= " #b)

// DCHECKs are for inner loops: on in debug builds, compiled but never run in others.
#ifdef NDEBUG
#define MILLRACE_IN_DEBUG while (false)
#else
#define MILLRACE_IN_DEBUG
#endif
#define DCHECK(condition) MILLRACE_IN_DEBUG CHECK(condition)
#define DCHECK_EQ(a, b) MILLRACE_IN_DEBUG CHECK_EQ(a, b)
#define DCHECK_NE(a, b) MILLRACE_IN_DEBUG CHECK_NE(a, b)
#define DCHECK_LT(a, b) MILLRACE_IN_DEBUG CHECK_LT(a, b)
#define DCHECK_LE(a, b) MILLRACE_IN_DEBUG CHECK_LE(a, b)
#define DCHECK_GT(a, b) MILLRACE_IN_DEBUG CHECK_GT(a, b)
#define DCHECK_GE(a, b) MILLRACE_IN_DEBUG CHECK_GE(a, b)
