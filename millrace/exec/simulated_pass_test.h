// Runs passes without threads: tasks are claimed, run and completed in an order drawn
// from a seed, as threads of any speed might.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_run.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/rest.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

inline constexpr int kThreads = 3;

// A pass with everything it needs around it.
class SimulatedPass {
 public:
  SimulatedPass(const std::string& text, uint64_t seed, int64_t memory_bytes,
                Delivery order = Delivery::kLogical)
      : memory_(pool_, memory_bytes),
        plan_(
            *PlanPass(AsWritten(text), ops::DefaultLibrary(), {.order = order}, pool_)),
        meters_(plan_.pipeline.size(), base::RealClock()),
        pass_(plan_,
              {.library = ops::DefaultLibrary(),
               .pool = pool_,
               .memory = memory_,
               .meters = meters_,
               .threads = kThreads},
              lanes::DealAll(plan_.joined_rows, 1).tracks[0].lanes),
        draw_(base::RandomKey(seed, 0, 0), {}) {}

  ~SimulatedPass() {
    pass_.Stop();
    while (!claimed_.empty()) CompleteOne();
  }

  // Runs until a block is ready, and takes it.
  absl::StatusOr<std::optional<core::Block>> Next() {
    while (taken_.empty()) {
      while (!pass_.ready()) Step();
      PassRun::Ready ready = pass_.TakeReady();
      turn_ = ready.turn;
      taken_ = std::move(ready.items);
      if (taken_.empty()) return std::nullopt;
    }
    const Item item = taken_.front();
    if (!item.status.ok()) return item.status;
    taken_.pop_front();
    if (std::ssize(positions_) <= turn_) positions_.resize(turn_ + 1, 0);
    positions_[turn_] = item.position;
    return item.block;
  }

  std::vector<lanes::LaneRange> Left() const { return pass_.Left(positions_); }

  std::vector<core::Block> Drain() {
    std::vector<core::Block> blocks;
    while (true) {
      absl::StatusOr<std::optional<core::Block>> block = Next();
      CHECK(block.ok()) << block.status();
      if (!block->has_value()) return blocks;
      blocks.push_back(**std::move(block));
    }
  }

  // Runs for as long as there is work, as when nobody takes anything.
  void RunUntilFull() {
    while (ClaimOne() || !claimed_.empty()) CompleteOne();
  }

  // How many tasks can be at work at once, from the start.
  int64_t RunAtOnce() {
    while (ClaimOne()) {
    }
    return std::ssize(claimed_);
  }

  const core::Pool& pool() const { return pool_; }

  std::vector<MeterReading> readings() const { return meters_.Read(); }

 private:
  void Step() {
    const bool claims = claimed_.empty() ||
                        (std::ssize(claimed_) < kThreads && draw_.Integer(0, 2) == 0);
    if (claims && ClaimOne()) return;
    CHECK(!claimed_.empty()) << "nothing runs, nothing can be claimed: a deadlock";
    CompleteOne();
  }

  bool ClaimOne() {
    Task task;
    const bool fetches = draw_.Integer(0, 2) == 0;
    const bool found = fetches
                           ? pass_.ClaimFetch(true, task) || pass_.Claim(true, task)
                           : pass_.Claim(true, task) || pass_.ClaimFetch(true, task);
    if (!found) return false;
    memory_.Start(task.reserved_bytes);
    claimed_.push_back(std::move(task));
    return true;
  }

  void CompleteOne() {
    const int64_t which = draw_.Integer(0, std::ssize(claimed_));
    Task task = std::move(claimed_[which]);
    claimed_.erase(claimed_.begin() + which);
    task.stage->Run(task, static_cast<int>(which));
    memory_.End(task.reserved_bytes);
    pass_.Complete(std::move(task));
  }

  core::Pool pool_{core::MakeHeapAllocator(), {}};
  Memory memory_;
  PassPlan plan_;
  Meters meters_;
  PassRun pass_;
  base::Generator draw_;
  std::vector<Task> claimed_;
  std::deque<Item> taken_;
  int64_t turn_ = 0;
  Positions positions_;
};

inline constexpr int64_t kPlenty = int64_t{1} << 30;

// Whatever the order of tasks, the rows are the sequential runner's.
inline void ExpectSameRows(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const core::Block plain = Joined(MustRun(text));
    for (uint64_t seed = 0; seed < 4; ++seed) {
      SimulatedPass pass(text, seed, kPlenty);
      EXPECT_TRUE(core::SameRows(plain, Joined(pass.Drain())))
          << "seed " << seed << "\n"
          << text;
    }
  }
}

// The same with very little memory, which never stops it.
inline void ExpectSameRowsWithin(const std::vector<std::string>& texts,
                                 const std::vector<int64_t>& budgets) {
  for (const std::string& text : texts) {
    const core::Block plain = Joined(MustRun(text));
    for (const int64_t bytes : budgets) {
      SimulatedPass pass(text, 5, bytes);
      EXPECT_TRUE(core::SameRows(plain, Joined(pass.Drain()))) << bytes << "\n" << text;
    }
  }
}

// A pass that is left holds nothing: its destructors would say so.
inline void ExpectNothingKept(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    for (int blocks = 0; blocks < 12; blocks += 3) {
      SimulatedPass pass(text, blocks, kPlenty);
      for (int i = 0; i < blocks; ++i) ASSERT_TRUE(pass.Next().ok());
    }
  }
}

}  // namespace millrace::exec
