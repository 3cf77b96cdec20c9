#include "millrace/ir/operator.h"

#include <cstdint>
#include <limits>
#include <sstream>

#include "gtest/gtest.h"

#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

TEST(OperatorTest, ACountIsKnownUnknownOrInfinite) {
  EXPECT_TRUE(Cardinality::Known(3).known());
  EXPECT_EQ(Cardinality::Known(3).rows(), 3);
  EXPECT_FALSE(Cardinality::Known(3).infinite());
  EXPECT_FALSE(Cardinality::Unknown().known());
  EXPECT_FALSE(Cardinality::Unknown().infinite());
  EXPECT_FALSE(Cardinality::Infinite().known());
  EXPECT_TRUE(Cardinality::Infinite().infinite());
}

TEST(OperatorTest, CountsCompareByValue) {
  EXPECT_EQ(Cardinality::Known(3), Cardinality::Known(3));
  EXPECT_NE(Cardinality::Known(3), Cardinality::Known(4));
  EXPECT_NE(Cardinality::Known(0), Cardinality::Unknown());
  EXPECT_NE(Cardinality::Unknown(), Cardinality::Infinite());
}

TEST(OperatorTest, CountsPrint) {
  EXPECT_EQ(Cardinality::Known(1000).ToString(), "1000");
  EXPECT_EQ(Cardinality::Known(std::numeric_limits<int64_t>::max()).ToString(),
            "9223372036854775807");
  EXPECT_EQ(Cardinality::Unknown().ToString(), "unknown");
  std::ostringstream out;
  out << Cardinality::Infinite();
  EXPECT_EQ(out.str(), "infinite");
}

TEST(OperatorTest, AskingForAnUnknownCountIsAProgrammersError) {
  EXPECT_DEATH(Cardinality::Unknown().rows(), "known");
}

TEST(OperatorTest, SourcesAndShufflesAreNumbered) {
  OperatorSchema schema = {.name = "plain", .doc = ""};
  EXPECT_FALSE(schema.numbered());
  schema.traits = {.source = true};
  EXPECT_TRUE(schema.numbered());
  schema.traits = {.reorders = true};
  EXPECT_TRUE(schema.numbered());
}

TEST(OperatorTest, DrawsNothingAndDoesSomethingUnlessItSaysSo) {
  const OperatorSchema schema = {.name = "plain", .doc = ""};
  const Arguments none;
  EXPECT_FALSE(schema.is_random(none));
  EXPECT_EQ(schema.noop_reason({.arguments = none, .inputs = {}}), "");
  EXPECT_EQ(schema.version, 1);
  EXPECT_EQ(schema.inputs, 1);
}

}  // namespace
}  // namespace millrace::ir
