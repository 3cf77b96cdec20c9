#include "millrace/exec/work_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"

#include "millrace/exec/engine_work.h"

namespace millrace::exec {
namespace {

// What runs of it, or waits to be fetched, will give it more to do.
bool IsIdle(const EngineWork& work) {
  return work.running() == 0 && !work.HasWork() && !work.HasFetch();
}

}  // namespace

void WorkQueue::Add(EngineWork& work, const WorkPlace& place) {
  owners_[place.owner][place.stage].push_back({&work, added_++});
}

void WorkQueue::Remove(const EngineWork& work) {
  for (auto& [owner, stages] : owners_) {
    for (auto& [stage, equals] : stages) {
      std::erase_if(equals, [&](const Entry& entry) { return entry.work == &work; });
    }
    std::erase_if(stages, [](const auto& entry) { return entry.second.empty(); });
  }
  std::erase_if(owners_, [](const auto& entry) { return entry.second.empty(); });
}

EngineWork* WorkQueue::Pick(absl::FunctionRef<bool(EngineWork&)> ask) {
  auto owner = owners_.upper_bound(last_);
  for (size_t i = 0; i < owners_.size(); ++i, ++owner) {
    if (owner == owners_.end()) owner = owners_.begin();
    for (auto& [stage, equals] : owner->second) {
      EngineWork* const work = PickOf(equals, ask);
      if (work == nullptr) continue;
      last_ = owner->first;
      return work;
    }
  }
  return nullptr;
}

int64_t WorkQueue::ServedOf(const Entry& entry) {
  return entry.handicap + entry.work->urgency().served;
}

bool WorkQueue::Precedes(const Entry& one, const Entry& other) {
  const auto rank = [](const Entry& entry) {
    return std::tuple(!entry.work->urgency().needed, ServedOf(entry), entry.number);
  };
  return rank(one) < rank(other);
}

// Who comes to be needed, or is new, counts as much as the least of those who were
// before: what it might have had meanwhile is not made up for.
void WorkQueue::Rank(Equals& equals) {
  for (Entry& entry : equals) {
    const bool needed = entry.work->urgency().needed;
    if (entry.counted_as == needed) continue;
    entry.counted_as.reset();
    std::optional<int64_t> least;
    for (const Entry& other : equals) {
      if (other.counted_as != needed) continue;
      least = std::min(least.value_or(ServedOf(other)), ServedOf(other));
    }
    if (least) entry.handicap += std::max<int64_t>(0, *least - ServedOf(entry));
    entry.counted_as = needed;
  }
  if (!std::ranges::is_sorted(equals, Precedes)) std::ranges::sort(equals, Precedes);
}

// Who has nothing to do when it is its turn has had it, too.
EngineWork* WorkQueue::PickOf(Equals& equals,
                              absl::FunctionRef<bool(EngineWork&)> ask) {
  Rank(equals);
  for (Entry& entry : equals) {
    const Urgency urgency = entry.work->urgency();
    const int64_t served = ServedOf(entry);
    if (!ask(*entry.work)) continue;
    for (Entry& before : equals) {
      if (&before == &entry) break;
      if (before.work->urgency().needed != urgency.needed || !IsIdle(*before.work))
        continue;
      before.handicap += std::max<int64_t>(0, served - ServedOf(before));
    }
    return entry.work;
  }
  return nullptr;
}

bool WorkQueue::Any(absl::FunctionRef<bool(const EngineWork&)> ask) const {
  for (const auto& [owner, stages] : owners_) {
    for (const auto& [stage, equals] : stages) {
      const auto says_yes = [&](const Entry& entry) { return ask(*entry.work); };
      if (std::ranges::any_of(equals, says_yes)) return true;
    }
  }
  return false;
}

}  // namespace millrace::exec
