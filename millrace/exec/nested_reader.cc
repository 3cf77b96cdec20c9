#include "millrace/exec/nested_reader.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ops/library.h"
#include "millrace/ops/merger.h"

namespace millrace::exec {

NestedReader::NestedReader(Inputs inputs, const ops::Library& library, core::Pool& pool)
    : merger_(std::move(inputs.merger)),
      to_skip_(inputs.skip),
      recorder_(std::move(inputs.recorder)),
      tell_ended_(std::move(inputs.ended)) {
  for (LaneSeries& run : inputs.runs)
    inputs_.emplace_back(std::move(run), library, pool);
}

absl::StatusOr<std::optional<Item>> NestedReader::Next() {
  while (true) {
    while (!ready_.empty()) {
      Item item = std::move(ready_.front());
      ready_.pop_front();
      std::optional<Item> rest = to_skip_.Pass(std::move(item));
      if (!rest) continue;
      any_ = any_ || rest->block.rows() > 0;
      return rest;
    }
    const int wanted = merger_ == nullptr ? 0 : merger_->Wants();
    if (ended_ || wanted == ops::Merger::kNone) break;
    if (std::optional<Item> item = TRY(inputs_[wanted].Next())) {
      TRY(Take(*std::move(item)));
    } else if (merger_ != nullptr) {
      TRY(merger_->End(*this));
    } else {
      if (recorder_ != nullptr) recorder_->End();
      ended_ = true;
    }
  }
  if (tell_ended_ != nullptr) std::exchange(tell_ended_, nullptr)(any_);
  return std::nullopt;
}

absl::Status NestedReader::Take(Item item) {
  if (recorder_ != nullptr) recorder_->Add(item);
  const bool merges = merger_ != nullptr && !item.left_out;
  if (merges) return merger_->Push(std::move(item.block), *this);
  ready_.push_back(std::move(item));
  return absl::OkStatus();
}

absl::Status NestedReader::Emit(core::Block block) {
  if (block.rows() > 0) ready_.push_back(Item::Of(std::move(block)));
  return absl::OkStatus();
}

absl::Status NestedReader::EmitTail(int64_t /*key*/, core::Block /*rows*/) {
  CHECK(false) << "a merger has no tails";
  return absl::OkStatus();
}

}  // namespace millrace::exec
