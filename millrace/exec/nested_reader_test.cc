#include "millrace/exec/nested_reader.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/read_log_test.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;

TEST(NestedReaderTest, TellsAtTheEndWhetherThereWereRows) {
  for (const int64_t limit : {0, 3}) {
    std::vector<bool> told;
    Inputs inputs = {
        .runs = {{.plan = PlanInLanes(base::StrCat("%0 = range(stop=9) %1 = filter(%0, "
                                                   "predicate={.value < ",
                                                   limit, "})"),
                                      2)}}};
    inputs.ended = [&](bool any) { told.push_back(any); };
    NestedReader reader(std::move(inputs), ops::DefaultLibrary(), core::HeapPool());
    EXPECT_EQ(LogOf(reader).events.size(), static_cast<size_t>(limit));
    EXPECT_FALSE((*reader.Next()).has_value());
    EXPECT_THAT(told, ElementsAre(limit > 0));  // Once.
  }
}

// What repeats and merges is read like any other input of what repeats and merges.
TEST(NestedReaderTest, PassesMayBeNestedInNestedOnes) {
  const auto plan = PlanInLanes(
      "%0 = range(stop=2) %1 = range(start=7, stop=9) %2 = repeat(%1, count=2) "
      "%3 = concat(%0, %2) %4 = repeat(%3, count=2) %5 = repeat(%4, count=1)",
      1);
  Events events;
  for (int64_t split = 0; split < std::ssize(plan->manifest.splits); ++split) {
    for (const std::string& event : LogOf(*plan->nested, split).events) {
      events.push_back(event);
    }
  }
  EXPECT_THAT(events,
              ElementsAre("0", "1", "7", "8", "7", "8", "0", "1", "7", "8", "7", "8"));
}

}  // namespace
}  // namespace millrace::exec
