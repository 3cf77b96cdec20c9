// What a plug-in's operator gives, through the callbacks of MillraceEmitter: checks it
// against what was promised, adds the fields that stay as they were and the identities,
// and passes blocks on. The first failure is kept; every callback fails from then on.
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ops/operator.h"
#include "millrace/plugin/millrace_plugin.h"
#include "millrace/plugin/rows_in_reach.h"
#include "millrace/plugin/rows_writer.h"

namespace millrace::plugin {

// What an operator promised.
struct Promises {
  core::Spec spec;
  int32_t traits = 0;
  int64_t rows_held = 0;

  bool has(int32_t trait) const { return (traits & trait) != 0; }
};

class GivenRows {
 public:
  GivenRows(Promises promises, const ops::LaneContext& lane);

  // Begins a call: with the rows it pushes, or none at the end of the lane.
  void BeginPush(core::Block block, ops::Emitter& out);
  void BeginFinish(ops::Emitter& out);

  // For the plug-in, while a call runs.
  MillraceEmitter Callbacks();

  // Ends a call that the plug-in says was good: passes on what was begun last.
  absl::Status End();

  // Checks that no row is missing once all have been given.
  absl::Status CheckCount() const;

  // Why a callback failed; OK where none did.
  const absl::Status& status() const { return status_; }

  // The number of the first row of the call.
  int64_t first() const { return first_; }

 private:
  absl::Status Begin(int64_t rows, const int64_t* from);
  absl::Status CheckFrom(int64_t number);
  absl::Status Allocate(int64_t field, MillraceRoom& room);
  absl::Status BadRow(int64_t number, const char* why);
  absl::Status PassOn();
  absl::StatusOr<core::Block> ToBlock();
  absl::StatusOr<core::Block> WithIds(const core::Block& rows);

  // Remembers a failure, and gives the code that a callback gives.
  int32_t Note(const absl::Status& status);

  const Promises promises_;
  const ops::LaneContext lane_;
  const std::shared_ptr<const core::FieldNames> names_;
  RowsInReach reach_;
  core::Block block_;  // Of the call.
  int64_t first_ = 0;
  ops::Emitter* out_ = nullptr;
  absl::Status status_;

  int64_t given_ = 0;  // In all: rows that were given or left out.
  int64_t last_from_ = -1;
  std::vector<int64_t> from_;      // Of the rows that are being given.
  std::vector<uint64_t> ordinal_;  // Which of those from one row each is.
  std::vector<std::optional<RowsWriter>> writers_;
};

}  // namespace millrace::plugin
