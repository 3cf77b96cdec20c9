#include "millrace/delivery/lane_report.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

#include "millrace/api/error.h"
#include "millrace/api/service.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {
namespace {

TEST(LaneReportTest, TellsAllThatHappened) {
  const LaneNews news{
      .lane = {1, 2, {3, 4}}, .rows = 5, .ended = true, .released = true};
  const api::LaneReport wanted{.job = 1,
                               .incarnation = 2,
                               .at = {3, 4},
                               .rows = 5,
                               .ended = true,
                               .released = true};
  EXPECT_EQ(ReportOf(news), wanted);
}

TEST(LaneReportTest, NamesAFailure) {
  LaneNews news{.lane = {1, 2, {3, 4}}};
  news.failed = absl::DataLossError("a row is cut off");
  const api::LaneReport report = ReportOf(news);
  EXPECT_EQ(report.failed, (api::Error{"DATA_LOSS", "a row is cut off"}));
}

}  // namespace
}  // namespace millrace::delivery
