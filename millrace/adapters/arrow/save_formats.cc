// Rows saved as Arrow IPC (Feather 2) and as Parquet, by the module.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/adapters/arrow/export.h"
#include "millrace/adapters/arrow/interface.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/adapters/arrow/operators.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ops/save_format.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {
namespace {

class ArrowFile final : public ops::RowsFile {
 public:
  ArrowFile(const MillraceArrowFunctions& module,
            std::unique_ptr<storage::BlobWriter> file,
            const ops::RowsFileContext& context)
      : module_(module),
        file_(std::move(file)),
        spec_(context.spec),
        pool_(context.pool),
        writer_(nullptr, WriterCloser{&module}) {}

  absl::Status Open(int32_t format) {
    ArrowSchema schema = ExportSchema(spec_);
    const MillraceArrowSink sink = {.context = this, .write = Write};
    MillraceArrowWriter* writer = nullptr;
    MillraceArrowError error = {};
    TRY(StatusOf(module_.open_writer(format, &schema, &sink, &writer, &error), error));
    writer_.reset(writer);
    return absl::OkStatus();
  }

  absl::Status Append(const core::Block& rows) override {
    ArrowArray array = TRY(ExportRows(spec_, rows, pool_));
    MillraceArrowError error = {};
    return StatusOf(module_.write(writer_.get(), &array, &error), error);
  }

  int64_t bytes() const override { return bytes_; }

  absl::Status Publish() override {
    MillraceArrowError error = {};
    TRY(StatusOf(module_.finish(writer_.get(), &error), error));
    return file_->Publish(storage::Sync::kNow);
  }

 private:
  static int32_t Write(void* context, const void* data, int64_t size) {
    auto* const self = static_cast<ArrowFile*>(context);
    self->bytes_ += size;
    self->written_.Update(self->file_->Append(
        {static_cast<const char*>(data), static_cast<size_t>(size)}));
    return self->written_.ok() ? 0 : 1;
  }

  // What the disk said is more than what Arrow makes of it.
  absl::Status StatusOf(int32_t kind, const MillraceArrowError& error) const {
    TRY(written_);
    if (kind == kMillraceArrowOk) return absl::OkStatus();
    return absl::InvalidArgumentError(
        base::StrCat("Arrow cannot write these rows: ", std::string_view(error.text),
                     "; save them in another format"));
  }

  const MillraceArrowFunctions& module_;
  const std::unique_ptr<storage::BlobWriter> file_;
  const core::Spec spec_;
  core::Pool& pool_;
  absl::Status written_;
  int64_t bytes_ = 0;
  WriterHandle writer_;  // Last: it may write while it is closed.
};

absl::Status CheckCanWrite(const core::Spec& spec) {
  TRY(CheckHolds(spec));
  return OpenModule().status();
}

ops::SaveFormat Format(const std::string& name, const std::string& doc,
                       int32_t format) {
  return {.name = name,
          .ending = base::StrCat(".", name),
          .doc = doc,
          .check = CheckCanWrite,
          .begin = [format](std::unique_ptr<storage::BlobWriter> file,
                            const ops::RowsFileContext& context)
              -> absl::StatusOr<std::unique_ptr<ops::RowsFile>> {
            const MillraceArrowFunctions* const module = TRY(OpenModule());
            auto opened =
                std::make_unique<ArrowFile>(*module, std::move(file), context);
            TRY(opened->Open(format));
            return opened;
          }};
}

}  // namespace

ops::SaveFormat ArrowFormat() {
  return Format("arrow", "Arrow IPC (Feather 2), for other programs too",
                kMillraceArrowIpc);
}

ops::SaveFormat ParquetFormat() {
  return Format("parquet", "Parquet, compressed, for other programs too",
                kMillraceArrowParquet);
}

}  // namespace millrace::arrow
