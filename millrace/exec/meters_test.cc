#include "millrace/exec/meters.h"

#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"

namespace millrace::exec {
namespace {

TEST(MetersTest, AddUpByOperator) {
  base::ManualClock clock;
  Meters meters(2, clock);
  meters.AddTime(0, 1500);
  meters.AddTime(0, 500);
  meters.AddInput(1, 10);
  meters.AddInput(1, 5);
  meters.AddOutput(1, 7, 700);
  const std::vector<MeterReading> readings = meters.Read();
  EXPECT_EQ(readings[0].busy, absl::Microseconds(2));
  EXPECT_EQ(readings[0].rows_out, 0);
  EXPECT_EQ(readings[1].blocks, 2);
  EXPECT_EQ(readings[1].rows_in, 15);
  EXPECT_EQ(readings[1].rows_out, 7);
  EXPECT_EQ(readings[1].bytes_out, 700);
}

TEST(MetersTest, ReadTheClockTheyWereGiven) {
  base::ManualClock clock;
  const Meters meters(1, clock);
  const int64_t before = meters.Now();
  clock.Advance(absl::Microseconds(3));
  EXPECT_EQ(meters.Now() - before, 3000);
}

}  // namespace
}  // namespace millrace::exec
