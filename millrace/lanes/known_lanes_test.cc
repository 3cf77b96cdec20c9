#include "millrace/lanes/known_lanes.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::lanes {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

TEST(KnownLanesTest, KeepsTheMostThatItWasTold) {
  KnownLanes known;
  EXPECT_EQ(known.Get(3), KnownLane{});
  EXPECT_THAT(known.Learn(3, {.rows = 10}), IsOk());
  EXPECT_THAT(known.Learn(3, {.rows = 7}), IsOk()) << "an old message";
  EXPECT_EQ(known.Get(3), (KnownLane{10, false}));
  EXPECT_THAT(known.Learn(3, {12, true}), IsOk());
  EXPECT_THAT(known.Learn(3, {.rows = 11}), IsOk());
  EXPECT_EQ(known.Get(3), (KnownLane{12, true}));
  known.Forget(3);
  EXPECT_EQ(known.size(), 0);
}

TEST(KnownLanesTest, NoticesALaneThatCameOutOtherwise) {
  KnownLanes known;
  EXPECT_THAT(known.Learn(1, {5, true}), IsOk());
  EXPECT_THAT(known.Learn(1, {.rows = 6}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("5 rows and then with 6")));
  EXPECT_THAT(known.Learn(2, {.rows = 6}), IsOk());
  EXPECT_THAT(known.Learn(2, {5, true}), StatusIs(StatusCode::kDataLoss));
  EXPECT_EQ(known.Get(2), (KnownLane{6, false})) << "it keeps what it had";
}

}  // namespace
}  // namespace millrace::lanes
