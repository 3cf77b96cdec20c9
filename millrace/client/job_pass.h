// One pass of a job, as a consumer knows it: how it falls into lanes, and how what
// workers send becomes batches. Tails are joined here: the last batching operator and
// those behind it run in the consumer's process. Thread-safe once made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/tails.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::client {

// A part of a batch: rows of a frame that was received.
struct ReceivedPart {
  core::Buffer frame;
  delivery::BatchPart part;
};

// What the next batch is made of.
struct ReceivedBatch {
  std::vector<ReceivedPart> parts = {};
  int64_t rows = 0;         // The joined rows are repeated up to so many …
  int64_t slice_begin = 0;  // … and these of them are wanted.
  int64_t slice_end = 0;
};

class JobPass {
 public:
  struct Source {
    const rewrite::Rewritten* pipeline = nullptr;
    const ops::Library* library = nullptr;
    const api::OpenedJob* job = nullptr;
    std::string listing = {};
  };

  // Plans a pass; nothing is listed or read.
  static absl::StatusOr<std::unique_ptr<JobPass>> Plan(exec::Engine& engine,
                                                       const Source& source,
                                                       int64_t pass);

  // All of the pass, dealt; and what a state leaves of it.
  lanes::Rest Whole() const;
  absl::StatusOr<lanes::Rest> Left(const lanes::State& state) const;

  // What a state says that leaves this of the pass.
  lanes::State StateOf(const lanes::Rest& rest) const;

  lanes::Batching batching() const;

  bool counted() const { return counted_; }

  // Makes the batch that the training loop is handed.
  absl::StatusOr<core::Block> BatchOf(const ReceivedBatch& received) const;

 private:
  JobPass() = default;

  std::vector<int64_t> LaneRows() const;
  absl::StatusOr<core::Block> Joined(const std::vector<core::Block>& tails) const;

  int64_t pass_ = 0;
  uint64_t seed_ = 0;
  int64_t tracks_ = 1;
  bool counted_ = false;
  exec::JobFacts facts_;
  std::shared_ptr<exec::LanePlan> plan_;
  std::optional<exec::TailJoiner> joiner_;
};

}  // namespace millrace::client
