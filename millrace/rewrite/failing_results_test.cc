#include "millrace/rewrite/failing_results.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"

namespace millrace::rewrite {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ir::Expression Parsed(const std::string& function) {
  const core::Spec rows({{"x", core::DType::kInt64, {}},
                         {"pair", core::DType::kInt64, {2}},
                         {"some", core::DType::kInt64, {core::kUnknownSize}}});
  return *ir::ParseExpression(function, rows, ops::DefaultLibrary().catalog());
}

std::vector<std::string> Failing(const std::string& function) {
  return FailingResults(Parsed(function));
}

TEST(FailingResultsTest, ArithmeticOnKnownShapesCannotFail) {
  EXPECT_THAT(Failing("{a: .x + 1, b: .pair * .x, c: -.some, d: 3}"), IsEmpty());
}

TEST(FailingResultsTest, DivisionByWhatMayBeZeroCan) {
  EXPECT_THAT(Failing("{a: .x // 2, b: 2 // .x, c: .x % 0}"), ElementsAre("b", "c"));
}

TEST(FailingResultsTest, ShapesThatMayNotMeetCan) {
  EXPECT_THAT(Failing("{a: .some + .pair, b: .some + 1}"), ::testing::Contains("a"));
}

TEST(FailingResultsTest, AFunctionCanFailWhenAnyOfItsResultsCan) {
  EXPECT_TRUE(CanFail(Parsed("{a: .x, b: .x // .x}")));
  EXPECT_FALSE(CanFail(Parsed("{a: .x, b: .x * 2}")));
  EXPECT_TRUE(CanFail(Parsed("{.x // .x == 1}")));
  EXPECT_FALSE(CanFail(Parsed("{.x * 2 == 1}")));
}

TEST(FailingResultsTest, WhatFailsDeepInsideCounts) {
  EXPECT_THAT(Failing("{a: 1 + (2 * (.x % .x)), b: .x}"), ElementsAre("a"));
}

}  // namespace
}  // namespace millrace::rewrite
