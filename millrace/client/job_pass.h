// One pass of a job, as a consumer knows it: how it falls into lanes, and how what
// workers send becomes batches. Tails are joined here: the last batching operator and
// those behind it run in the consumer's process. Making batches is thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/delivery/job_reader.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/tails.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/transport/channel.h"

namespace millrace::client {

// A frame as it was received: all of it, or its head and its body in parts.
struct ReceivedFrame {
  core::Buffer frame;
  std::vector<core::Buffer> parts = {};
  int64_t shared_bytes = 0;  // Of the parts.
};

inline ReceivedFrame FrameOf(transport::Received received) {
  return {std::move(received.payload), std::move(received.parts),
          received.shared_bytes};
}

// A part of a batch: rows of a frame that was received.
struct ReceivedPart {
  ReceivedFrame frame;
  delivery::BatchPart part;
};

// What the next batch is made of.
struct ReceivedBatch {
  std::vector<ReceivedPart> parts = {};
  int64_t rows = 0;         // The joined rows are repeated up to so many …
  int64_t slice_begin = 0;  // … and these of them are wanted.
  int64_t slice_end = 0;
  int64_t valid = 0;  // The first so many of these; others fill the last round up.
};

class JobPass {
 public:
  struct Source {
    const rewrite::Rewritten* pipeline = nullptr;
    const ops::Library* library = nullptr;
    const api::OpenedJob* job = nullptr;
    std::string listing = {};
    api::JobSettings settings = {};
    int64_t consumer = 0;               // Who reads.
    int64_t credit_bytes = 64LL << 20;  // That may wait there.
  };

  // Plans a pass; nothing is listed or read.
  static absl::StatusOr<std::unique_ptr<JobPass>> Plan(exec::Engine& engine,
                                                       const Source& source,
                                                       int64_t pass);

  // All of the pass, dealt; and what a state leaves of it.
  lanes::Rest Whole() const;
  absl::StatusOr<lanes::Rest> Left(const lanes::State& state) const;

  // Makes the pass's reader: of all of it, or of what a state leaves.
  absl::StatusOr<delivery::BegunPass> Begin(const std::optional<lanes::State>& state);

  // Deals more lanes of a pass without end to its reader, as long as it wants some.
  absl::Status DealMore(delivery::PassReader& reader);

  // The state after what a reader of the pass has taken: in any order its part.
  lanes::State StateOf(const delivery::PassReader& reader) const;

  lanes::Batching batching() const;

  // Whether the rows of lanes are known beforehand, by all who must know them.
  bool counted() const { return source_.job->facts.counted && !(any() && endless()); }

  // Makes the batch that the training loop is handed.
  absl::StatusOr<core::Block> BatchOf(const ReceivedBatch& received) const;

 private:
  explicit JobPass(Source source) : source_(std::move(source)) {}

  bool endless() const { return !facts_.lanes; }

  bool any() const { return source_.settings.order == "any"; }

  bool pads() const { return source_.settings.remainder == "pad"; }

  lanes::OrderRecord order() const;
  absl::Status CheckGroups() const;
  absl::Status CutTo(int64_t lanes);
  std::vector<int64_t> LaneRows() const;
  absl::StatusOr<delivery::BegunPass> BeginFixed(
      const std::optional<lanes::State>& state) const;
  absl::StatusOr<delivery::BegunPass> BeginAny(
      const std::optional<lanes::State>& state) const;
  api::PassFacts PassFactsOf() const;
  absl::StatusOr<core::Block> Joined(const std::vector<core::Block>& tails) const;
  absl::StatusOr<core::Block> RowsOf(const ReceivedBatch& received) const;
  absl::StatusOr<core::Block> WithValid(const core::Block& batch, int64_t valid) const;

  const Source source_;
  int64_t pass_ = 0;
  uint64_t seed_ = 0;
  exec::JobFacts facts_;  // Without an end, as far as it was cut.
  int64_t lanes_ = 0;     // That were cut, and dealt.
  std::shared_ptr<exec::LanePlan> plan_;
  std::optional<exec::TailJoiner> joiner_;
};

}  // namespace millrace::client
