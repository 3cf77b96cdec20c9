// A run of operators that need a lane's rows in order: one thread at a time. Where it
// begins with the joining operator it waits for what other lanes left over, and hands
// on what this one leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/exec/chain.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/cursor.h"

namespace millrace::exec {

// What lanes leave over that fills no batch, and whose rows that is.
struct Carry {
  std::vector<Tails> tails;
  Stream rows;

  void Add(Carry more);
};

// Whoever joins lanes: the pass.
class Joiner {
 public:
  virtual ~Joiner() = default;

  // Whether a lane that has had all its rows may come to its end now.
  virtual bool MayEnd() const = 0;

  // It does so. Gives what else it has to join, where it is the last of the pass.
  struct Ending {
    bool ends_pass = false;
    Carry carry = {};
  };

  virtual Ending End() = 0;

  // The one of this turn has: this was its stream, and this is what is left of it.
  virtual void Ended(int64_t turn, Stream stream, Carry left) = 0;
};

class InOrderStage final : public StageRun {
 public:
  // `joiner` is set where the first operator of the chain joins lanes, of which this is
  // the one of that turn. Requires: all outlive it.
  InOrderStage(std::unique_ptr<Chain> chain, Joiner* joiner, int64_t turn, Sink& next,
               const QueueLimits& limits)
      : chain_(std::move(chain)),
        joiner_(joiner),
        turn_(turn),
        ready_(joiner == nullptr),
        ends_pass_(joiner == nullptr),
        next_(next),
        queue_(limits) {}

  // Lets a joining stage begin.
  void SetCarry(Carry carry);

  // Has the rows of batches digested, of which items then say up to where.
  // Requires: it joins lanes, and the digest outlives it.
  void SetDigest(lanes::Digest* digest) { digest_ = digest; }

  // Has batches counted, rather than the rows in them. Requires: it joins lanes.
  void CountBatches() { counts_batches_ = true; }

  // Has its end come where disks are waited for.
  void SetWaits() { waits_ = true; }

  // What the digest was before the first batch. Requires: one has come out.
  const lanes::Digest& skipped() const { return skipped_; }

  void Accept(Item item) override;

  void EndInput() override { input_ended_ = true; }

  bool HasRoom() const override { return !stopped_ && queue_.HasRoom(); }

  bool HasWork() const override { return HasTask() && !Waits(); }

  bool HasFetch() const override { return HasTask() && Waits(); }

  bool Claim(const Memory& memory, bool first, Task& task) override;
  bool ClaimFetch(const Memory& memory, bool first, Task& task) override;
  void Run(Task& task, int thread) override;
  void Complete(Task task) override;

 private:
  bool HasTask() const;

  // Whether the next task waits for the disk, rather than computing.
  bool Waits() const { return waits_ && queue_.empty(); }

  void TakeTask(Task& task);
  void StopIfEnded();
  void BeginEnd();
  absl::Status Work(Task& task);
  absl::Status PushCarry();
  void Collect(Task& task, const Item& from);

  const std::unique_ptr<Chain> chain_;
  Joiner* const joiner_;
  const int64_t turn_;
  bool ready_;
  bool ends_pass_;  // No lane follows; where none are joined there is but one.
  Carry carry_;     // To be pushed.
  lanes::Digest* digest_ = nullptr;
  lanes::Digest skipped_;
  bool begun_ = false;
  Stream stream_;         // Of what comes in, but for own rows while they come.
  int64_t rows_ = 0;      // Own ones, that came in.
  int64_t position_ = 0;  // Rows in batches.
  bool counts_batches_ = false;
  bool waits_ = false;
  Sink& next_;
  ItemQueue queue_;
  bool input_ended_ = false;
  bool stopped_ = false;  // An operator wants no more; what comes is dropped.
  bool ending_ = false;
  bool busy_ = false;
  bool ended_ = false;
};

}  // namespace millrace::exec
