// Reads rows that are in memory, a slice at a time, none of them copied.
#pragma once

#include <optional>
#include <utility>

#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

class BlockReader final : public Reader {
 public:
  BlockReader(core::Block all, const lanes::RowRange& rows,
              const SourceContext& context)
      : all_(std::move(all)), rows_(rows), context_(context) {}

  absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) override;

 private:
  const core::Block all_;
  lanes::RowRange rows_;  // Still to be given.
  const SourceContext context_;
};

}  // namespace millrace::ops
