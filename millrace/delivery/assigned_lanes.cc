#include "millrace/delivery/assigned_lanes.h"

#include <set>
#include <utility>
#include <vector>

#include "millrace/api/service.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {

void AssignedLanes::Take(const std::vector<api::AssignedLane>& lanes,
                         LaneServer& server) {
  std::set<JobLane> before = std::move(lanes_);
  lanes_.clear();
  for (const api::AssignedLane& lane : lanes) {
    const JobLane key{lane.job, lane.incarnation, lane.at};
    lanes_.insert(key);
    before.erase(key);
  }
  for (const JobLane& lane : before) server.Unassign(lane);
  for (const api::AssignedLane& lane : lanes) {
    server.Assign({lane.job, lane.incarnation, lane.at},
                  {lane.from, lane.members, lane.now});
  }
}

}  // namespace millrace::delivery
