// The lanes that a dispatcher has given to a worker. It tells all of them each time;
// this finds what is new and what is gone. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "millrace/api/service.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {

class AssignedLanes {
 public:
  // Assigns them to the server, and unassigns those that were and are not any more.
  void Take(const std::vector<api::AssignedLane>& lanes, LaneServer& server);

  size_t size() const { return lanes_.size(); }

 private:
  std::set<JobLane> lanes_;
};

}  // namespace millrace::delivery
