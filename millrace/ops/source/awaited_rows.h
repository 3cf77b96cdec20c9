// Rows of a save that may still be going on: each of its lanes is a split, whose file
// is waited for where it is not there yet. How many rows it will have is not known,
// also once it is there: so a pass is cut the same way whenever it begins.
//
// A wait ends with the save: when it fails, or when nothing was seen of it for as long
// as the reader was told to wait. No thread is kept meanwhile: a reader looks, sleeps
// for a moment, and says that it takes another Fetch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/recalled.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

struct AwaitedRowsArgs {
  std::string folder;
  std::string fields;
  absl::Duration wait;  // For a sign of whoever saves.
};

class AwaitedRows final : public Source, public Recalls {
 public:
  // Requires: `sources` outlives it.
  AwaitedRows(AwaitedRowsArgs args, const SourcesByEnding& sources,
              const SourceContext& context);

  absl::StatusOr<lanes::Manifest> List() override;
  absl::Status Recall(const lanes::Manifest& listed) override;
  absl::StatusOr<std::vector<RowPlace>> PlacesOf(
      int64_t split, absl::Span<const int64_t> rows) const override;
  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override;

 private:
  const AwaitedRowsArgs args_;
  const SourcesByEnding& sources_;
  const SourceContext context_;
  std::vector<std::string> paths_;  // Of the splits.
};

}  // namespace millrace::ops
