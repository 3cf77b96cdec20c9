#include "millrace/exec/work_queue.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"

#include "millrace/exec/engine_work.h"

namespace millrace::exec {

void WorkQueue::Add(EngineWork& work, const WorkPlace& place) {
  owners_[place.owner][place.stage].works.push_back(&work);
}

void WorkQueue::Remove(const EngineWork& work) {
  for (auto& [owner, stages] : owners_) {
    for (auto& [stage, equals] : stages) std::erase(equals.works, &work);
    std::erase_if(stages, [](const auto& entry) { return entry.second.works.empty(); });
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

EngineWork* WorkQueue::PickOf(Equals& equals,
                              absl::FunctionRef<bool(EngineWork&)> ask) {
  const std::vector<EngineWork*>& works = equals.works;
  for (size_t i = 0; i < works.size(); ++i) {
    const size_t place = (equals.next + i) % works.size();
    if (!ask(*works[place])) continue;
    equals.next = place + 1;
    return works[place];
  }
  return nullptr;
}

bool WorkQueue::Any(absl::FunctionRef<bool(const EngineWork&)> ask) const {
  for (const auto& [owner, stages] : owners_) {
    for (const auto& [stage, equals] : stages) {
      const auto says_yes = [&](const EngineWork* work) { return ask(*work); };
      if (std::ranges::any_of(equals.works, says_yes)) return true;
    }
  }
  return false;
}

}  // namespace millrace::exec
