// Reads the rows of one file: a feed brings the bytes in (byte_feed.h), a scanner says
// where rows are (storage/row_scanner.h), and what was found is made into blocks
// (found_rows.h). Rows that are wrong are told; where the framing is broken, so is the
// rest of the file, as one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/byte_feed.h"
#include "millrace/ops/source/found_rows.h"
#include "millrace/ops/source/index_writer.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

// Told of the rows of a range, in order, as they are found.
using OnRow = std::function<void(int64_t number, const storage::FoundRow& row)>;

struct ScanPlan {
  storage::BlobInfo file;
  RowsPlan rows;
  FeedOptions feed;                         // Where to read, from ...
  int64_t row = 0;                          // ... the beginning of this row on, ...
  lanes::RowRange range;                    // ... and which rows to give.
  std::shared_ptr<IndexWriter> index = {};  // Set where one is to be built.
  OnRow on_row = {};                        // Set where somebody asks for them.
};

class ScanReader final : public FindingReader {
 public:
  ScanReader(const ScanPlan& plan, std::unique_ptr<storage::RowScanner> scanner,
             const SourceContext& context);

  absl::Status Fetch() override;
  absl::StatusOr<bool> FetchNow() override;
  std::shared_ptr<FetchAhead> Ahead() override;

  int64_t ahead() const override { return feed_.ahead(); }

  absl::StatusOr<std::optional<FoundWork>> Find() override;

 private:
  enum class Step : uint8_t { kGoOn, kNeedMore, kFull, kEnd };

  absl::StatusOr<Step> TakeStep();
  absl::StatusOr<Step> TakeContent();
  absl::StatusOr<Step> SetApart(int64_t size);
  absl::StatusOr<Step> TakeRow();
  absl::StatusOr<Step> Lose(const absl::Status& why);
  absl::Status TooLong() const;
  absl::Status PassUsed();
  absl::Status PassBeyond(int64_t size);

  const std::shared_ptr<const RowsPlan> plan_;
  const std::unique_ptr<storage::RowScanner> scanner_;
  const lanes::RowRange range_;
  const SourceContext context_;
  ByteFeed feed_;
  std::string_view rest_;  // Of the feed's window, while rows are being found.
  FoundRows found_;
  std::optional<storage::Found> content_;  // What is left of it was not there yet.
  const std::shared_ptr<IndexWriter> index_;
  const OnRow on_row_;
  int64_t next_row_;
  bool ended_ = false;
};

}  // namespace millrace::ops
