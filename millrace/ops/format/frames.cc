// Rows as they are in memory, every type and shape, with a table of where each block
// begins (storage/frame_file.h): the quickest to write and to read.

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/frames/frame.h"
#include "millrace/ops/save_format.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/frame_file.h"

namespace millrace::ops {
namespace {

class FramesFile final : public RowsFile {
 public:
  FramesFile(std::unique_ptr<storage::BlobWriter> file, const RowsFileContext& context)
      : file_(std::move(file), context.spec.ToString()), pool_(context.pool) {}

  // Identities are given anew where the rows are read.
  absl::Status Append(const core::Block& rows) override {
    const core::Block plain(rows.rows(), rows.shared_names(), rows.columns());
    return file_.Append(TRY(frames::Encode(plain, pool_)));
  }

  int64_t bytes() const override { return file_.bytes(); }

  absl::Status Publish() override { return file_.Publish(storage::Sync::kNow); }

 private:
  storage::FrameFileWriter file_;
  core::Pool& pool_;
};

}  // namespace

SaveFormat FramesFormat() {
  return {.name = "frames",
          .ending = ".frames",
          .doc = "Millrace's own: any rows, quick to write and to read",
          .check = [](const core::Spec&) { return absl::OkStatus(); },
          .begin =
              [](std::unique_ptr<storage::BlobWriter> file,
                 const RowsFileContext& context) {
                return std::make_unique<FramesFile>(std::move(file), context);
              }};
}

}  // namespace millrace::ops
