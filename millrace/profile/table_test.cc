#include "millrace/profile/table.h"

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/profile/facts.h"

namespace millrace::profile {
namespace {

using ::testing::HasSubstr;

TEST(TableTest, ShowsOperatorsThroughputAndBottleneck) {
  PassFacts facts;
  facts.operators = {{.name = "range",
                      .busy = absl::Seconds(1),
                      .rows_out = 2'000'000,
                      .bytes_out = 16'000'000},
                     {.name = "map",
                      .row_wise = true,
                      .busy = absl::Seconds(3),
                      .rows_in = 2'000'000,
                      .rows_out = 2'000'000,
                      .bytes_out = 1500}};
  facts.threads = 2;
  facts.wall = absl::Seconds(2);
  facts.first_block = absl::Milliseconds(15);
  facts.waited = absl::Seconds(1);
  facts.blocks = 1000;
  facts.rows = 2'000'000;
  facts.bytes = 16'000'000;
  facts.memory_peak_bytes = 123;
  EXPECT_EQ(
      ToTable(facts),
      "  operator              time  share        rows in       rows out      "
      "bytes  us per row\n"
      "  range                1.000 s  25.0%              0      2,000,000    "
      "16.0 MB       0.500\n"
      "  map                  3.000 s  75.0%      2,000,000      2,000,000     "
      "1.5 kB       1.500\n\n"
      "  2,000,000 rows in 1,000 blocks, 16.0 MB, in 2.00 s: 1,000,000 rows/s, "
      "8.0 MB/s\n"
      "  first block after 0.015 s; the consumer waited 50%; threads worked 100%\n"
      "  memory at most 123 B\n"
      "  bottleneck: all 2 threads work 100% of the time, 75% of it in map\n"
      "  what to do: more threads or workers, or less work in map\n");
}

TEST(TableTest, ShowsSizesInTheUnitThatFits) {
  EXPECT_EQ(ShowBytes(999), "999 B");
  EXPECT_EQ(ShowBytes(1500), "1.5 kB");
  EXPECT_EQ(ShowBytes(2.5e15), "2.5 PB");
  EXPECT_EQ(ShowRate(1234567.4), "1,234,567 rows/s");
}

OperatorFacts LeavingOut(const std::string& name, int64_t rows) {
  OperatorFacts facts;
  facts.name = name;
  facts.rows_left_out = rows;
  return facts;
}

TEST(TableTest, ShowsWhatWasLeftOut) {
  PassFacts facts;
  facts.operators = {LeavingOut("read_tfrecord", 1200), LeavingOut("filter", 0),
                     LeavingOut("map", 1)};
  EXPECT_EQ(ShowLeftOut(facts), "left out 1,201 rows: read_tfrecord 1,200, map 1\n");
  facts.first_left_out = {"read_tfrecord (%0), lane 2: corrupt", "map (%2): bad"};
  EXPECT_EQ(ShowLeftOut(facts),
            "left out 1,201 rows: read_tfrecord 1,200, map 1; first:\n"
            "  read_tfrecord (%0), lane 2: corrupt\n  map (%2): bad\n");
  EXPECT_THAT(ToTable(facts),
              HasSubstr("\n  left out 1,201 rows: read_tfrecord 1,200, map 1; first:\n"
                        "    read_tfrecord (%0), lane 2: corrupt\n"
                        "    map (%2): bad\n  bottleneck"));
}

TEST(TableTest, SaysNothingOfRowsLeftOutWhereNoneWas) {
  PassFacts facts;
  facts.operators = {LeavingOut("range", 0)};
  EXPECT_EQ(ShowLeftOut(facts), "");
  facts.operators = {LeavingOut("map", 1)};
  EXPECT_EQ(ShowLeftOut(facts), "left out 1 row: map 1\n");
}

}  // namespace
}  // namespace millrace::profile
