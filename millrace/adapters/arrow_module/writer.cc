#include "millrace/adapters/arrow_module/writer.h"

#include <cstdint>
#include <memory>

#include "arrow/c/abi.h"
#include "arrow/c/bridge.h"
#include "arrow/io/interfaces.h"
#include "arrow/ipc/writer.h"
#include "arrow/record_batch.h"
#include "arrow/result.h"
#include "arrow/status.h"
#include "arrow/type.h"
#include "arrow/util/type_fwd.h"
#include "parquet/arrow/writer.h"
#include "parquet/properties.h"

#include "millrace/adapters/arrow/interface.h"
#include "millrace/adapters/arrow_module/guarded.h"

namespace millrace::arrow_module {
namespace {

class CallbackSink final : public arrow::io::OutputStream {
 public:
  explicit CallbackSink(const MillraceArrowSink& sink) : sink_(sink) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }

  bool closed() const override { return closed_; }

  arrow::Result<int64_t> Tell() const override { return position_; }

  arrow::Status Write(const void* data, int64_t size) override {
    failed_ = failed_ || sink_.write(sink_.context, data, size) != 0;
    if (failed_) return arrow::Status::IOError("the bytes could not be written");
    position_ += size;
    return arrow::Status::OK();
  }

  bool failed() const { return failed_; }

 private:
  const MillraceArrowSink sink_;
  int64_t position_ = 0;
  bool closed_ = false;
  bool failed_ = false;
};

}  // namespace
}  // namespace millrace::arrow_module

// A file being written: one of the two.
struct MillraceArrowWriter {
  std::shared_ptr<millrace::arrow_module::CallbackSink> sink;
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> ipc = nullptr;
  std::unique_ptr<parquet::arrow::FileWriter> parquet = nullptr;
};

namespace millrace::arrow_module {
namespace {

// The schema goes with the file, so that lists of one size are read as such.
arrow::Status OpenParquet(MillraceArrowWriter& writer) {
  const auto properties = parquet::WriterProperties::Builder()
                              .compression(arrow::Compression::SNAPPY)
                              ->build();
  const auto arrow_properties =
      parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ARROW_ASSIGN_OR_RAISE(
      writer.parquet,
      parquet::arrow::FileWriter::Open(*writer.schema, arrow::default_memory_pool(),
                                       writer.sink, properties, arrow_properties));
  return arrow::Status::OK();
}

int32_t KindOf(const MillraceArrowWriter& writer, int32_t kind) {
  return kind != kMillraceArrowOk && writer.sink->failed() ? kMillraceArrowRead : kind;
}

}  // namespace

int32_t OpenWriter(int32_t format, ArrowSchema* schema, const MillraceArrowSink* sink,
                   MillraceArrowWriter** out, MillraceArrowError* error) {
  auto writer = std::make_unique<MillraceArrowWriter>();
  writer->sink = std::make_shared<CallbackSink>(*sink);
  const int32_t kind = Guarded(error, [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(writer->schema, arrow::ImportSchema(schema));
    if (format == kMillraceArrowParquet) return OpenParquet(*writer);
    ARROW_ASSIGN_OR_RAISE(writer->ipc,
                          arrow::ipc::MakeFileWriter(writer->sink, writer->schema));
    return arrow::Status::OK();
  });
  if (kind != kMillraceArrowOk) return KindOf(*writer, kind);
  *out = writer.release();
  return kMillraceArrowOk;
}

int32_t WriteRows(MillraceArrowWriter* writer, ArrowArray* rows,
                  MillraceArrowError* error) {
  const int32_t kind = Guarded(error, [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch,
                          arrow::ImportRecordBatch(rows, writer->schema));
    if (writer->parquet != nullptr) return writer->parquet->WriteRecordBatch(*batch);
    return writer->ipc->WriteRecordBatch(*batch);
  });
  return KindOf(*writer, kind);
}

int32_t FinishFile(MillraceArrowWriter* writer, MillraceArrowError* error) {
  const int32_t kind = Guarded(error, [&] {
    return writer->parquet != nullptr ? writer->parquet->Close() : writer->ipc->Close();
  });
  return KindOf(*writer, kind);
}

void CloseWriter(MillraceArrowWriter* writer) { delete writer; }

}  // namespace millrace::arrow_module
