// The part of the lane server that chooses which lanes run: there is room for some at
// once, and jobs that share a lane have one place for it (lane_server.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <utility>

#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {

void LaneServer::SetShare(int64_t job, const std::string& share) {
  const int64_t number =
      share.empty() ? 0 : shares_.emplace(share, std::ssize(shares_) + 1).first->second;
  int64_t& own = share_of_[job];
  if (own == number) return;
  --sharers_[own];
  ++sharers_[number];
  own = number;
}

LaneServer::Slot LaneServer::SlotOf(const JobLane& key) const {
  const auto share = share_of_.find(key.job);
  if (share == share_of_.end() || share->second == 0) return {0, key};
  return {share->second, {0, 0, {key.at.pass, key.at.lane}}};
}

bool LaneServer::HasSlotFor(const JobLane& key) const {
  if (runs() < options_.runs_max) return true;
  const Slot slot = SlotOf(key);
  return slot.share > 0 && sharers_.at(slot.share) > 1 && slots_.contains(slot);
}

void LaneServer::EndRun(std::map<RunId, Run>::iterator run) {
  const auto slot = slots_.find(run->second.slot);
  if (--slot->second == 0) slots_.erase(slot);
  runs_.erase(run);
}

// Lanes that are needed now come before those that will be. One that another job has
// made here takes no room. A job that has none at work gets one beyond the limit:
// others' may wait for what it writes.
void LaneServer::StartWaiting() {
  const auto to_start = [](const Lane& lane) {
    const bool fresh = lane.assigned && !lane.rows && lane.blocks.empty();
    return !lane.run && (fresh || !lane.waiting.empty());
  };
  bool room = true;  // Can be made.
  for (auto& [key, lane] : lanes_) {
    if (!IsNeeded(lane) || !to_start(lane)) continue;
    while (room && !HasSlotFor(key)) room = MakeRoom();
    if (!HasSlotFor(key) && !HasSlotBeyond(key.job)) continue;
    Start(key, lane);
  }
  for (auto& [key, lane] : lanes_) {
    if (to_start(lane) && HasSlotFor(key)) Start(key, lane);
  }
}

// Others may go on with what was made for a job, and it without: each counts once.
bool LaneServer::HasSlotBeyond(int64_t job) const {
  const bool runs_one = std::ranges::any_of(
      runs_, [&](const auto& entry) { return entry.second.lane.job == job; });
  if (runs_one) return false;
  int64_t jobs = 0;
  int64_t last = -1;
  for (const auto& [key, lane] : lanes_)
    jobs += std::exchange(last, key.job) != key.job;
  return runs() < options_.runs_max + jobs;
}

bool LaneServer::IsNeeded(const Slot& slot) const {
  return std::ranges::any_of(lanes_, [&](const auto& entry) {
    const Lane& lane = entry.second;
    return lane.run && IsNeeded(lane) && runs_.at(*lane.run).slot == slot;
  });
}

// Stops a lane that nobody needs yet, the last of them, for all that share it.
bool LaneServer::MakeRoom() {
  for (const auto& [key, lane] : std::views::reverse(lanes_)) {
    if (!lane.run || IsNeeded(lane)) continue;
    const Slot slot = runs_.at(*lane.run).slot;
    if (slots_.at(slot) > 1 && IsNeeded(slot)) continue;
    for (auto& [other_key, other] : lanes_) {
      if (other.run && runs_.at(*other.run).slot == slot) Stop(other);
    }
    return true;
  }
  return false;
}

}  // namespace millrace::delivery
