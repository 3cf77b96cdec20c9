// Matchers for tests of functions that return absl::Status or absl::StatusOr<T>:
//
//   EXPECT_THAT(file.Close(), IsOk());
//   EXPECT_THAT(ParseBytes("4KiB"), IsOkAndHolds(4_KiB));
//   EXPECT_THAT(ParseBytes("?"), StatusIs(kInvalidArgument, HasSubstr("size")));
#pragma once

#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace millrace::base {

inline absl::Status StatusOf(const absl::Status& status) { return status; }

template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Matches a status or result that is OK.
MATCHER(IsOk, negation ? "is an error" : "is OK") {
  if (StatusOf(arg).ok()) return true;
  *result_listener << StatusOf(arg);
  return false;
}

// Matches an error with this code and any message.
MATCHER_P(StatusIs, code,
          (negation ? "is not " : "is ") + absl::StatusCodeToString(code)) {
  if (StatusOf(arg).code() == code) return true;
  *result_listener << "which is " << StatusOf(arg);
  return false;
}

// Matches an error with this code and a message that satisfies the matcher.
MATCHER_P2(StatusIs, code, message_matcher,
           (negation ? "is not " : "is ") + absl::StatusCodeToString(code) +
               " whose message " +
               testing::DescribeMatcher<std::string>(message_matcher)) {
  *result_listener << "which is " << StatusOf(arg) << " ";
  return StatusOf(arg).code() == code &&
         testing::ExplainMatchResult(
             message_matcher, std::string(StatusOf(arg).message()), result_listener);
}

// Matches an OK result whose value satisfies the matcher, or equals the value given.
MATCHER_P(IsOkAndHolds, value_matcher, "is OK and holds a matching value") {
  if (!arg.ok()) {
    *result_listener << "which is " << arg.status();
    return false;
  }
  return testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

}  // namespace millrace::base
