#include "millrace/api/facts.h"

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/profile/facts.h"

namespace millrace::api {
namespace {

TEST(FactsTest, TellsSecondsAndOperators) {
  profile::PassFacts facts;
  facts.wall = absl::Milliseconds(1500);
  facts.rows = 12;
  facts.operators.push_back({.name = "map", .number = 2, .busy = absl::Seconds(1)});
  facts.first_left_out = {"row 3 is wrong"};
  EXPECT_THAT(FactsToJson(facts),
              testing::AllOf(testing::HasSubstr(R"("wall_seconds":1.5)"),
                             testing::HasSubstr(R"("name":"map","number":2)"),
                             testing::HasSubstr(R"("rows":12)"),
                             testing::HasSubstr(R"(["row 3 is wrong"])")));
}

}  // namespace
}  // namespace millrace::api
