#include "millrace/adapters/python/function_call.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/python_calls.h"
#include "millrace/base/status_matchers.h"
#include "millrace/ir/attachment.h"

namespace millrace::python {
namespace {

using base::IsOk;

absl::StatusCode CodeOf(const api::PythonAnswer& answer, std::optional<int64_t> asked) {
  return ResultOf(answer, asked).status().code();
}

TEST(FunctionCallTest, EveryRowIsAnsweredOrFailed) {
  EXPECT_THAT(ResultOf({.rows = 5}, 5), IsOk());
  EXPECT_EQ(CodeOf({.rows = 4}, 5), absl::StatusCode::kInternal);
  EXPECT_EQ(CodeOf({.rows = 6}, 5), absl::StatusCode::kInternal);
  EXPECT_EQ(CodeOf({.rows = -1, .error = "x"}, 5), absl::StatusCode::kInternal);
  EXPECT_EQ(CodeOf({.rows = 5, .error = "x"}, 5), absl::StatusCode::kInternal);
  const FunctionResult result = *ResultOf({.rows = 4, .error = "wrong"}, 5);
  EXPECT_EQ(result.error, absl::DataLossError("wrong"));
}

TEST(FunctionCallTest, AGeneratorGivesRowsOrSaysWhyNot) {
  EXPECT_THAT(ResultOf({.rows = 5}, {}), IsOk());
  EXPECT_EQ(CodeOf({}, {}), absl::StatusCode::kInternal);
  EXPECT_TRUE(ResultOf({.ended = true}, {})->ended);
  const FunctionResult result = *ResultOf({.error = "wrong"}, {});
  EXPECT_FALSE(result.ended);
  EXPECT_EQ(result.error, absl::DataLossError("wrong"));
}

TEST(FunctionCallTest, AGeneratorIsNamedByItsStream) {
  const ir::Attachment function(std::string("function"));
  const FunctionCall call = {.function = function, .seed = 3, .first_call = 7};
  const api::PythonCall message = GenerateMessage(call, {.number = 5, .skip = 9});
  EXPECT_EQ(message.kind, "generate");
  EXPECT_EQ(message.function, MapMessage(call).function);
  EXPECT_EQ(message.stream, 5);
  EXPECT_EQ(message.skip, 9);
  EXPECT_EQ(message.first_call, 7);
}

}  // namespace
}  // namespace millrace::python
