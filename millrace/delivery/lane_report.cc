#include "millrace/delivery/lane_report.h"

#include "millrace/api/error.h"
#include "millrace/api/service.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {

api::LaneReport ReportOf(const LaneNews& news) {
  api::LaneReport report{.job = news.lane.job,
                         .incarnation = news.lane.incarnation,
                         .at = news.lane.at,
                         .rows = news.rows,
                         .ended = news.ended,
                         .released = news.released};
  report.tails = news.tails;
  if (news.failed.ok()) return report;
  report.failed = api::ToError(news.failed);
  return report;
}

}  // namespace millrace::delivery
