// Reads the rows of one file: a scanner says where rows are (storage/row_scanner.h), a
// feed brings the bytes in (byte_feed.h), and a builder makes blocks of them
// (row_builder.h). Rows that are wrong are left out where that is allowed; where the
// framing is broken, so is the rest of the file, as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/byte_feed.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

struct ScanPlan {
  storage::BlobInfo file;
  core::Spec spec;       // The scanner's fields, in its order, then the key.
  bool has_key = false;  // The last field is the row's key.
  bool sums = false;     // Rows come with checksums of their content.
  FeedOptions feed;      // Where to read, from ...
  int64_t row = 0;       // ... the beginning of this row on.
};

class ScanReader final : public Reader {
 public:
  ScanReader(ScanPlan plan, std::unique_ptr<storage::RowScanner> scanner,
             const lanes::RowRange& rows, const SourceContext& context);

  absl::Status Fetch() override;
  absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) override;

 private:
  enum class Step : uint8_t { kGoOn, kNeedMore, kFull, kEnd };

  absl::Status TellBad(BadRows& bad_rows);
  absl::StatusOr<Step> TakeStep();
  absl::StatusOr<Step> TakeContent();
  absl::StatusOr<Step> TakeRow();
  absl::Status WriteContent();
  absl::StatusOr<Step> Lose(const absl::Status& why);
  absl::Status Named(const absl::Status& status, std::string_view where) const;

  const ScanPlan plan_;
  const std::unique_ptr<storage::RowScanner> scanner_;
  const lanes::RowRange rows_;
  const SourceContext context_;
  ByteFeed feed_;
  RowBuilder builder_;
  std::optional<storage::Found> content_;  // Announced, not taken yet.
  std::byte* place_ = nullptr;             // Of long content that is being filled.
  uint32_t crc_ = 0;
  int64_t next_row_;
  std::optional<absl::Status> bad_;  // Of the row behind those in the builder.
  bool row_open_ = false;            // Some content of a row is taken.
  bool ended_ = false;
};

}  // namespace millrace::ops
