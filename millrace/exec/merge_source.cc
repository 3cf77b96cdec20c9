#include "millrace/exec/merge_source.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/lane_reader.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

class MergeReader final : public ops::Reader, private ops::Emitter {
 public:
  MergeReader(std::vector<std::unique_ptr<LaneReader>> inputs,
              std::unique_ptr<ops::Merger> merger, int64_t skip)
      : inputs_(std::move(inputs)), merger_(std::move(merger)), to_skip_(skip) {}

  absl::Status Fetch() override {
    LaneReader* const wanted = Wanted();
    return wanted == nullptr ? absl::OkStatus() : wanted->Fetch();
  }

  absl::StatusOr<std::optional<core::Block>> Next(ops::BadRows& bad_rows) override {
    if (LaneReader* const wanted = Wanted(); wanted != nullptr) {
      const std::optional<core::Block> block = TRY(wanted->Next(bad_rows));
      if (!block) TRY(merger_->End(*this));
      if (block && block->rows() > 0) TRY(merger_->Push(*block, *this));
    } else if (ready_.empty()) {
      return std::nullopt;
    }
    return TakeReady();
  }

 private:
  absl::Status Emit(core::Block block) override {
    ready_.push_back(std::move(block));
    return absl::OkStatus();
  }

  absl::Status EmitTail(int64_t /*key*/, core::Block /*rows*/) override {
    CHECK(false) << "a merger has no tails";
    return absl::OkStatus();
  }

  // The input that has to be read before there is anything to give.
  LaneReader* Wanted() {
    if (!ready_.empty()) return nullptr;
    const int wanted = merger_->Wants();
    return wanted == ops::Merger::kNone ? nullptr : inputs_[wanted].get();
  }

  // The next block; one without rows where there is none at the moment.
  core::Block TakeReady() {
    core::Block block;
    while (!ready_.empty() && block.rows() == 0) {
      block = std::move(ready_.front());
      ready_.pop_front();
      const int64_t skipped = std::min(to_skip_, block.rows());
      to_skip_ -= skipped;
      block = block.Slice(skipped, block.rows() - skipped);
    }
    return block;
  }

  const std::vector<std::unique_ptr<LaneReader>> inputs_;
  const std::unique_ptr<ops::Merger> merger_;
  int64_t to_skip_;
  std::deque<core::Block> ready_;
};

}  // namespace

MergeSource::MergeSource(ir::Pipeline node, std::vector<PassPlan> inputs,
                         const ops::Library& library, core::Pool& pool)
    : node_(std::move(node)),
      inputs_(std::move(inputs)),
      library_(library),
      pool_(pool) {}

absl::StatusOr<lanes::Manifest> MergeSource::List() {
  base::Hash128 content;
  base::Hash128 versioned;
  base::Bytes bytes(1);
  for (const PassPlan& input : inputs_) {
    for (int64_t lane = 0; lane < input.lanes.size(); ++lane) {
      content = base::Combine(content, input.lanes.ContentHash(lane));
      versioned = base::Combine(versioned, input.lanes.VersionedContentHash(lane));
    }
    bytes += input.manifest.total_bytes();
  }
  lanes::Manifest manifest;
  manifest.splits.push_back(
      {.name = base::StrCat(node_.name(), ", ", base::ToHex(content)),
       .bytes = bytes,
       .version = base::ToHex(versioned),
       .rows = {}});
  return manifest;
}

bool MergeSource::waits() const {
  return std::ranges::any_of(
      inputs_, [](const PassPlan& input) { return input.source->waits(); });
}

// Whoever reads goes through the inputs on its own: their plans may grow.
absl::StatusOr<Inputs> MergeSource::InputsOf(const lanes::RowRange& rows) const {
  Inputs inputs = {.runs = {}, .skip = rows.begin};
  for (const PassPlan& input : inputs_) {
    inputs.runs.push_back({.plan = std::make_shared<PassPlan>(input)});
  }
  inputs.merger =
      library_.MakeMerger(node_, {.pool = pool_,
                                  .inputs = static_cast<int>(inputs_.size()),
                                  .seed = inputs_[0].seed,
                                  .epoch = inputs_[0].epoch});
  return inputs;
}

std::vector<std::shared_ptr<const PassPlan>> MergeSource::inputs() const {
  std::vector<std::shared_ptr<const PassPlan>> plans;
  for (const PassPlan& input : inputs_) {
    plans.push_back(std::make_shared<const PassPlan>(input));
  }
  return plans;
}

absl::StatusOr<std::unique_ptr<ops::Reader>> MergeSource::Open(
    const lanes::RowRange& rows) const {
  Inputs inputs = TRY(InputsOf(rows));
  std::vector<std::unique_ptr<LaneReader>> readers;
  for (LaneRun& run : inputs.runs) {
    readers.push_back(std::make_unique<LaneReader>(Inputs{.runs = {std::move(run)}},
                                                   library_, pool_));
  }
  return std::make_unique<MergeReader>(std::move(readers), std::move(inputs.merger),
                                       inputs.skip);
}

}  // namespace millrace::exec
