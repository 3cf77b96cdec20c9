// What a consumer's side of one pass is in either order: it is told what the dispatcher
// and workers say, says what to ask of whom, and gives batches as they become ready.
// Pure: what arrives goes in, what is to be done comes out. fixed_reader.h and
// any_reader.h are the two; job_reader.h has those of all passes of a job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/delivery/credit.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/state.h"

namespace millrace::delivery {

enum class WorkerId : int64_t {};

struct SendWants {
  WorkerId worker = {};
  api::ReaderMessage message;
};

using ReaderAction = std::variant<SendWants, Drop>;

// Rows of a block that was received.
struct BatchPart {
  Token token = {};
  int64_t skip = 0;  // Rows of it before these.
  int64_t rows = 0;
  bool tail = false;
  bool last_use = false;  // The block is not needed any more.
};

// What the training loop is handed: one part, or several that are to be joined.
struct TakenBatch {
  std::vector<BatchPart> parts;
  int64_t rows = 0;         // The joined rows are repeated up to so many …
  int64_t slice_begin = 0;  // … and these of them are this consumer's.
  int64_t slice_end = 0;
  int64_t valid = 0;  // The first so many of these; others fill the last round up.
};

// A lane that must be run for a consumer.
struct LaneNeed {
  api::LaneAddress at;
  int64_t from = 0;
  bool now = false;     // Else soon.
  bool placed = false;  // It knows a worker that runs it.

  bool operator==(const LaneNeed&) const = default;
};

class PassReader {
 public:
  enum class Ready : uint8_t { kBatch, kWait, kEnd };

  PassReader(int64_t pass, const Credit& credit) : pass_(pass), credit_(credit) {}

  PassReader(const PassReader&) = delete;
  PassReader& operator=(const PassReader&) = delete;
  virtual ~PassReader() = default;

  int64_t pass() const { return pass_; }

  // The dispatcher says which worker runs a lane; nothing: none does.
  virtual void OnPlaced(const api::LaneAddress& at, std::optional<WorkerId> worker) = 0;

  // Somebody has learnt of a lane's rows.
  virtual absl::Status OnKnown(int64_t lane, const lanes::KnownLane& known) = 0;

  // What a worker sends. Fails when a lane did not come out as it did before.
  virtual absl::Status OnBatch(const api::BatchHead& head, Token token) = 0;
  virtual absl::Status OnEnd(const api::LaneEnd& end) = 0;

  // The worker failed to run the lane: it is to be asked elsewhere.
  virtual void OnFailed(WorkerId worker, const api::LaneAddress& at) = 0;
  virtual void OnWorkerGone(WorkerId worker) = 0;

  virtual Ready ready() const = 0;

  // Takes the next batch. Requires: ready() is kBatch.
  virtual TakenBatch Take() = 0;

  // Takes back all that was asked for, and drops what came: nobody takes any more.
  virtual void Leave() = 0;

  // Lanes that must be run for this consumer, those needed sooner first.
  virtual std::vector<LaneNeed> Needs() const = 0;

  // The lane that the training loop waits for, if it waits.
  virtual std::optional<api::LaneAddress> waits_for() const = 0;

  // What is known of the rows of lanes, where that was not known beforehand, for a
  // dispatcher that has forgotten it.
  virtual std::vector<api::KnownRows> Known() const = 0;

  // All of this pass is on its way: the next one may begin.
  virtual bool MayBeginNext() const = 0;

  // Writes down what was taken. Requires: all else of the state is there, its order and
  // whose part it is too.
  virtual void WriteState(lanes::State& state) const = 0;

  // Batches that were taken here.
  virtual int64_t taken() const = 0;

  // Rows that no consumer takes, for they fill no round; as far as it is known here.
  virtual int64_t left_out_rows() const { return 0; }

  std::vector<ReaderAction> TakeActions() { return std::exchange(actions_, {}); }

  // Tells whether a lane that nobody runs may have come to be needed since it was last
  // asked: Needs looks at all there is, which is too much for every batch.
  bool TakeNeedsChanged() { return std::exchange(needs_changed_, false); }

  const Credit& credit() const { return credit_; }

  // Changes how many bytes may wait here; heeded from the next message on.
  void SetCredit(int64_t bytes) { credit_.Set(bytes); }

 protected:
  void Do(ReaderAction action) { actions_.push_back(std::move(action)); }

  void NeedsChanged() { needs_changed_ = true; }

  // Wants rows of a worker, in one message with others.
  void SendWant(WorkerId worker, const api::Want& want);

 private:
  int64_t pass_;
  bool needs_changed_ = true;
  std::vector<ReaderAction> actions_;

 protected:
  Credit credit_;
};

}  // namespace millrace::delivery
