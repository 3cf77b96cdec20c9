// A consumer's side of a job: a reader for the pass that the training loop takes from,
// one for the next pass as soon as all of this one is on its way, and in any order
// those of passes before, for as long as others may need their rights. Pure, like the
// readers; who uses it plans the passes.
//
//   JobReader job({.credit_bytes = 64 << 20});
//   job.Begin({.reader = std::make_unique<FixedReader>(…)});  // The first pass …
//   if (auto pass = job.wants_pass()) job.Begin(…);           // … and the next, early.
//   TRY(job.OnNews(news));
//   if (job.current().ready() == PassReader::Ready::kBatch) job.Take();
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"

namespace millrace::delivery {

struct JobReaderOptions {
  bool counted = true;                // The rows of all lanes are known beforehand.
  int64_t credit_bytes = 64LL << 20;  // That may wait here, of all passes.
};

// A pass that is begun: its reader, and in any order what the dispatcher must know.
struct BegunPass {
  std::unique_ptr<PassReader> reader;
  std::optional<api::PassFacts> facts = {};
};

class JobReader {
 public:
  explicit JobReader(const JobReaderOptions& options) : options_(options) {}

  // Begins a pass. The first is taken from at once, others from GoTo on.
  void Begin(BegunPass pass);

  // Takes from another pass from now on; those that are not at their end are left.
  // Requires: the pass was begun.
  void GoTo(int64_t pass);

  // Begins a pass, from its start if it was begun before, and takes from it.
  void StartOver(BegunPass pass);

  bool has_begun(int64_t pass) const { return passes_.contains(pass); }

  // The pass that is to be begun ahead, if it is time for it.
  std::optional<int64_t> wants_pass() const;

  // The dispatcher's news. Old ones, that others have overtaken, change nothing.
  absl::Status OnNews(const api::ConsumerNews& news);

  // A message of a worker; the token is what came with it.
  absl::Status OnWorker(WorkerId worker, const api::WorkerMessage& message,
                        Token token);
  void OnWorkerGone(WorkerId worker);

  // The reader of the pass that is taken from.
  const PassReader& current() const { return *passes_.at(pass_).reader; }

  PassReader& current() { return *passes_.at(pass_).reader; }

  // Takes a batch of that pass. Requires: one is ready.
  TakenBatch Take();

  int64_t pass() const { return pass_; }

  // Nobody needs anything of passes that were taken to their end.
  bool settled() const;

  // What is to be done, of all passes.
  std::vector<ReaderAction> TakeActions();

  // Lanes that must be run for this consumer, of all passes.
  std::vector<LaneNeed> Needs() const;

  // What the dispatcher is to hear; who says it is left out.
  api::ConsumerBeat Beat();

  // Tells whether the dispatcher is to hear something at once, with a beat of its own:
  // that nobody runs a lane that is needed, once for each; or, where the training loop
  // waits, in any order, that all it has was taken.
  bool MustTell();

  // In any order the readers of passes, for who checks what must hold.
  const AnyReader* AnyOf(int64_t pass) const;

 private:
  struct Pass {
    std::unique_ptr<PassReader> reader;
    AnyReader* any = nullptr;  // The same, in any order.
    std::optional<api::PassFacts> facts = {};
  };

  Pass* Find(int64_t pass);
  absl::Status HearPasses(const api::ConsumerNews& news);
  void ShareCredit();
  void LeavePass(Pass& pass);
  bool NeedsMore();
  bool HasTakenAll() const;

  JobReaderOptions options_;
  std::map<int64_t, Pass> passes_;  // By their numbers.
  int64_t pass_ = -1;
  int64_t version_ = 0;        // Of the news it has.
  int64_t beats_ = 0;          // That it gave.
  int64_t taken_ = 0;          // Batches, of passes that are gone.
  int64_t left_out_rows_ = 0;  // Of these.
  bool tell_known_ = false;
  std::set<api::LaneAddress> unplaced_;  // That it needed when that last changed.
  api::PassBeat told_;  // What the last beat said of the pass, in any order.
  std::vector<ReaderAction> left_;  // What is to be done for passes that are gone.
};

}  // namespace millrace::delivery
