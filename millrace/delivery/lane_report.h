// What a worker tells its dispatcher of a lane, from what the lane server says. Pure.
#pragma once

#include "millrace/api/service.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {

api::LaneReport ReportOf(const LaneNews& news);

}  // namespace millrace::delivery
