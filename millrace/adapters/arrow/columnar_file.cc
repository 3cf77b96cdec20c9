#include "millrace/adapters/arrow/columnar_file.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/adapters/arrow/interface.h"
#include "millrace/adapters/arrow/messages_file.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/adapters/arrow/parquet_file.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {
namespace {

// Memory for the module: buffers of a pool, each kept until it is freed.
void* Allocate(void* pool, int64_t size, void** handle) {
  absl::StatusOr<core::Buffer> buffer = static_cast<core::Pool*>(pool)->Allocate(size);
  if (!buffer.ok()) return nullptr;
  auto* const kept = new core::Buffer(*std::move(buffer));
  *handle = kept;
  return kept->mutable_data();
}

void Free(void* handle) { delete static_cast<core::Buffer*>(handle); }

}  // namespace

ColumnarFile::ColumnarFile(storage::BlobInfo info, const MillraceArrowFunctions* module)
    : info_(std::move(info)), module_(module), file_(nullptr, FileCloser{module}) {}

absl::Status ColumnarFile::Take(FileHandle file) {
  file_ = std::move(file);
  ArrowSchema schema = {};
  MillraceArrowError error = {};
  const int32_t kind = module_->schema(file_.get(), &schema, &error);
  if (kind != kMillraceArrowOk) return ErrorOf(kind, error, info_.path);
  absl::StatusOr<Leaves> leaves = LeavesOf(schema);
  schema.release(&schema);
  if (!leaves.ok()) {
    return absl::Status(leaves.status().code(),
                        base::StrCat(leaves.status().message(), "; file ", info_.path));
  }
  leaves_ = *std::move(leaves);
  return absl::OkStatus();
}

absl::Status ColumnarFile::AddPart(int64_t rows) {
  if (rows < 0 || rows > lanes::kRowsMax - this->rows()) {
    return absl::DataLossError(
        base::StrCat("a part of it has ", rows, " rows; file ", info_.path));
  }
  row_ends_.push_back(this->rows() + rows);
  part_rows_max_ = std::max(part_rows_max_, rows);
  return absl::OkStatus();
}

int64_t ColumnarFile::PartOf(int64_t row) const {
  CHECK(row >= 0 && row < rows()) << row;
  const auto is_before = [&](int64_t end) { return end <= row; };
  return std::ranges::partition_point(row_ends_, is_before) - row_ends_.begin();
}

absl::StatusOr<PartHandle> ColumnarFile::OpenPart(int64_t part,
                                                  std::vector<Fetched> fetched,
                                                  int64_t batch_rows,
                                                  core::Pool& pool) const {
  MemoryView view(std::move(fetched));
  const MillraceArrowMemoryFile memory = view.Release();
  const MillraceArrowAllocator allocator = {
      .context = &pool, .allocate = Allocate, .free = Free};
  const MillraceArrowPlan plan = {.group = GroupOf(part), .batch_rows = batch_rows};
  MillraceArrowPart* opened = nullptr;
  MillraceArrowError error = {};
  const int32_t kind =
      module_->open_part(file_.get(), &memory, &allocator, &plan, &opened, &error);
  if (kind != kMillraceArrowOk) return ErrorOf(kind, error, info_.path);
  return PartHandle(opened, PartCloser{module_});
}

MemoryView::MemoryView(std::vector<Fetched> fetched)
    : fetched_(std::make_unique<std::vector<Fetched>>(std::move(fetched))) {
  for (const Fetched& piece : *fetched_) {
    pieces_.push_back({piece.place, piece.bytes.size(), piece.bytes.data()});
  }
}

MillraceArrowMemoryFile MemoryView::Release() {
  CHECK(fetched_ != nullptr);
  const int64_t end = pieces_.empty() ? 0 : pieces_.back().offset + pieces_.back().size;
  return {
      .pieces = pieces_.data(),
      .count = static_cast<int64_t>(pieces_.size()),
      .size = end,
      .owner = fetched_.release(),
      .release = [](void* owner) { delete static_cast<std::vector<Fetched>*>(owner); }};
}

absl::StatusOr<std::shared_ptr<const ColumnarFile>> OpenColumnarFile(
    FileFormat format, const storage::BlobStore& store, const storage::BlobInfo& info) {
  const MillraceArrowFunctions* const module = TRY(OpenModule());
  const std::unique_ptr<storage::Blob> blob = TRY(store.Open(info));
  if (format == FileFormat::kParquet) return ParquetFile::Open(*blob, module);
  return MessagesFile::Open(*blob, module);
}

}  // namespace millrace::arrow
