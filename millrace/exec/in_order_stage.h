// A run of operators that need a lane's rows in order: one thread at a time. Where it
// begins with the joining operator it waits for what the lane before left over, and
// hands on what this one leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"

#include "millrace/exec/chain.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/stage_run.h"

namespace millrace::exec {

// What goes from the joining operator of one lane to that of the next.
struct Carry {
  Tails tails;
  int64_t position = 0;  // Rows in batches so far, in this pass.
};

class InOrderStage final : public StageRun {
 public:
  // Takes what the joining operator leaves over, and how many rows entered it.
  using Joined = std::function<void(Carry carry, int64_t rows)>;

  // `joined` is set where the first operator of the chain joins lanes. `ends_pass`: no
  // lane follows. Requires: all outlive it.
  InOrderStage(std::unique_ptr<Chain> chain, Joined joined, bool ends_pass, Sink& next,
               const QueueLimits& limits)
      : chain_(std::move(chain)),
        joined_(std::move(joined)),
        ends_pass_(ends_pass),
        ready_(!joined_),
        next_(next),
        queue_(limits) {}

  // Lets a joining stage begin.
  void SetCarry(Carry carry);

  void Accept(Item item) override;

  void EndInput() override { input_ended_ = true; }

  bool HasRoom() const override { return queue_.HasRoom(); }

  bool HasWork() const override;
  bool Claim(const Memory& memory, bool first, Task& task) override;
  void Run(Task& task, int thread) override;
  void Complete(Task task) override;

 private:
  absl::Status Work(Task& task);
  void Collect(Task& task, int64_t position);

  const std::unique_ptr<Chain> chain_;
  const Joined joined_;
  const bool ends_pass_;
  bool ready_;
  Carry carry_;
  Sink& next_;
  ItemQueue queue_;
  bool input_ended_ = false;
  bool busy_ = false;
  bool ended_ = false;
  int64_t rows_ = 0;  // That entered.
};

}  // namespace millrace::exec
