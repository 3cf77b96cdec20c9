#include "millrace/rewrite/seed_of_both.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

#include "millrace/base/text.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"

namespace millrace::rewrite {
namespace {

constexpr char kDraws[] = "predicate={uniform(0.0, 1.0) < 0.5}";
constexpr char kDrawsNot[] = "predicate={.value > 3}";

std::optional<ir::Value> SeedOf(const std::string& first, const std::string& second) {
  const ir::Pipeline pipeline =
      *ir::Parse(base::StrCat("%0 = range(stop=4) %1 = filter(%0, ", first,
                              ") %2 = filter(%1, ", second, ")"),
                 {}, ops::DefaultLibrary().catalog());
  return SeedOfBoth(pipeline.inputs()[0], pipeline);
}

std::string WithSeed(const char* predicate, int seed) {
  return base::StrCat(predicate, ", seed=", seed);
}

TEST(SeedOfBothTest, IsTheOneThatBothHave) {
  EXPECT_EQ(SeedOf(WithSeed(kDraws, 4), WithSeed(kDraws, 4)), ir::Value(4));
  EXPECT_EQ(SeedOf(kDraws, kDraws), ir::Value());
}

TEST(SeedOfBothTest, IsThatOfTheOneThatDraws) {
  EXPECT_EQ(SeedOf(WithSeed(kDraws, 4), WithSeed(kDrawsNot, 5)), ir::Value(4));
  EXPECT_EQ(SeedOf(WithSeed(kDrawsNot, 4), WithSeed(kDraws, 5)), ir::Value(5));
  EXPECT_EQ(SeedOf(WithSeed(kDrawsNot, 4), kDraws), ir::Value());
}

TEST(SeedOfBothTest, IsNoneWhereBothDrawWithTheirOwn) {
  EXPECT_EQ(SeedOf(WithSeed(kDraws, 4), WithSeed(kDraws, 5)), std::nullopt);
  EXPECT_EQ(SeedOf(WithSeed(kDraws, 4), kDraws), std::nullopt);
}

}  // namespace
}  // namespace millrace::rewrite
