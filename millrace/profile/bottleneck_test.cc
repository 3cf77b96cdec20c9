#include "millrace/profile/bottleneck.h"

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/profile/facts.h"

namespace millrace::profile {
namespace {

using ::testing::HasSubstr;
using Kind = Bottleneck::Kind;

// Ten seconds on two threads; the consumer waited for nine of them.
PassFacts Facts() {
  PassFacts facts;
  facts.operators = {
      {.name = "read_tar", .busy = absl::Seconds(1)},
      {.name = "map", .row_wise = true, .busy = absl::Seconds(2)},
      {.name = "batch", .busy = absl::Seconds(1)},
  };
  facts.threads = 2;
  facts.io_threads = 2;
  facts.wall = absl::Seconds(10);
  facts.waited = absl::Seconds(9);
  return facts;
}

TEST(BottleneckTest, IsTheConsumerWhereItHardlyWaits) {
  PassFacts facts = Facts();
  facts.waited = absl::Milliseconds(100);
  const Bottleneck found = FindBottleneck(facts);
  EXPECT_EQ(found.kind, Kind::kConsumer);
  EXPECT_THAT(found.reason, HasSubstr("only 1% of the time"));
}

TEST(BottleneckTest, IsComputingWhereAllThreadsWork) {  // 15 + 2 of 20 seconds.
  PassFacts facts = Facts();
  facts.operators[1].busy = absl::Seconds(15);
  const Bottleneck found = FindBottleneck(facts);
  EXPECT_EQ(found.kind, Kind::kCompute);
  EXPECT_EQ(found.name, "map");
  EXPECT_EQ(found.reason, "all 2 threads work 85% of the time, 88% of it in map");
}

TEST(BottleneckTest, IsStorageWhereDisksAreWaitedFor) {
  PassFacts facts = Facts();
  facts.fetching = absl::Seconds(18);
  const Bottleneck found = FindBottleneck(facts);
  EXPECT_EQ(found.kind, Kind::kStorage);
  EXPECT_THAT(found.reason, HasSubstr("wait for disks 90%"));
}

TEST(BottleneckTest, IsAnOperatorThatOnlyOneThreadCanRun) {
  PassFacts facts = Facts();
  facts.operators[2].busy = absl::Seconds(9);
  const Bottleneck found = FindBottleneck(facts);
  EXPECT_EQ(found.kind, Kind::kInOrder);
  EXPECT_EQ(found.name, "batch");
}

TEST(BottleneckTest, IsNotKnownWhereNothingStandsOut) {
  EXPECT_EQ(FindBottleneck(Facts()).kind, Kind::kNone);
  EXPECT_EQ(FindBottleneck({}).kind, Kind::kNone);
}

TEST(BottleneckTest, UtilisationIsWorkPerThreadTime) {
  EXPECT_DOUBLE_EQ(Utilisation(Facts()), 0.2);
}

}  // namespace
}  // namespace millrace::profile
