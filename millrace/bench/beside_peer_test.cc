#include "millrace/bench/beside_peer.h"

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/bench/line.h"
#include "millrace/bench/scripts_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::bench {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

class BesidePeerTest : public testing::Test {
 protected:
  // Ours reaches 10 the first time, then 20, 30, ...
  absl::StatusOr<std::vector<Line>> Measured(std::string_view script,
                                             bool makes_data = false) {
    return BesidePeer(
        WithScript(folder_, script),
        {.program = "work", .arguments = {}, .makes_data = makes_data},
        [&]() -> absl::StatusOr<double> { return 10.0 * ++runs_; },
        {.name = "work", .unit = "rows/s", .limit_is = "the peer", .bar = 2.0});
  }

  const storage::TemporaryFolder folder_;
  int runs_ = 0;
};

TEST_F(BesidePeerTest, GivesBothMediansWithoutOurFirstRun) {
  const absl::StatusOr<std::vector<Line>> lines = Measured(kCounts);
  ASSERT_THAT(lines, IsOk());
  ASSERT_THAT(*lines, SizeIs(1));
  const Line& line = lines->at(0);
  EXPECT_EQ(line.ours, 30);  // Of 20, 30, 40.
  EXPECT_EQ(line.limit, 2);  // Of 1, 2, 3.
  EXPECT_TRUE(line.measured());
  EXPECT_TRUE(line.reached());
  EXPECT_EQ(line.limit_is, "the peer");
}

TEST_F(BesidePeerTest, APeerThatIsNotInstalledIsNotMeasured) {
  const absl::StatusOr<std::vector<Line>> lines =
      Measured("echo dali is not installed; exit 3");
  ASSERT_THAT(lines, IsOk());
  const Line& line = lines->at(0);
  EXPECT_EQ(line.ours, 30);  // Ours is, all the same.
  EXPECT_FALSE(line.measured());
  EXPECT_EQ(line.limit_is, "not measured: dali is not installed");
  EXPECT_THAT(ToTable(*lines), AllOf(HasSubstr("n/a"), HasSubstr("dali")));
}

TEST_F(BesidePeerTest, WithoutThePeersDataThereIsNothingToRun) {
  const absl::StatusOr<std::vector<Line>> lines =
      Measured("echo arrow is not installed; exit 3", /*makes_data=*/true);
  ASSERT_THAT(lines, IsOk());
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(lines->at(0).ours, 0);
  EXPECT_FALSE(lines->at(0).measured());
}

TEST_F(BesidePeerTest, APeerThatSaysNonsenseIsAnErrorThatNamesIt) {
  EXPECT_THAT(Measured("echo ready; while read a; do echo fast; done"),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("peer work says fast")));
}

TEST_F(BesidePeerTest, APeerThatFailsAtWorkIsAnErrorThatNamesIt) {
  EXPECT_THAT(Measured("echo ready; read a; echo 1; read a; exit 1"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("peer work ended")));
}

TEST_F(BesidePeerTest, OurErrorsAreOurs) {
  const auto fails = [] { return absl::StatusOr<double>(absl::DataLossError("torn")); };
  for (const std::string_view script : {kCounts, std::string_view("exit 3")}) {
    EXPECT_THAT(BesidePeer(WithScript(folder_, script),
                           {.program = "work", .arguments = {}}, fails, {}),
                StatusIs(absl::StatusCode::kDataLoss, "torn"));
  }
}

}  // namespace
}  // namespace millrace::bench
