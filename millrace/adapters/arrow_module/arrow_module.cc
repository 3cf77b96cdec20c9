// The module: interface.h over Apache Arrow C++. Every function turns what Arrow throws
// or returns into a kind and a text; nothing of Arrow's leaves but C structs.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "arrow/array/array_base.h"
#include "arrow/c/abi.h"
#include "arrow/c/bridge.h"
#include "arrow/ipc/options.h"
#include "arrow/ipc/reader.h"
#include "arrow/memory_pool.h"
#include "arrow/record_batch.h"
#include "arrow/result.h"
#include "arrow/status.h"
#include "arrow/type.h"
#include "arrow/util/config.h"
#include "parquet/arrow/reader.h"
#include "parquet/arrow/schema.h"
#include "parquet/file_reader.h"
#include "parquet/metadata.h"
#include "parquet/properties.h"
#include "parquet/schema.h"
#include "parquet/statistics.h"

#include "millrace/adapters/arrow/interface.h"
#include "millrace/adapters/arrow_module/decoded_field.h"
#include "millrace/adapters/arrow_module/guarded.h"
#include "millrace/adapters/arrow_module/limited_pool.h"
#include "millrace/adapters/arrow_module/memory_file.h"
#include "millrace/adapters/arrow_module/writer.h"

namespace millrace::arrow_module {
namespace {

// Column chunks of old writers can be so much longer than they say (PARQUET-816).
constexpr int64_t kChunkPadding = 100;

parquet::ArrowReaderProperties PropertiesFor(int64_t batch_rows) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_batch_size(batch_rows);
  properties.set_pre_buffer(false);
  return properties;
}

void AddLeaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) {
    AddLeaves(child, leaves);
  }
}

}  // namespace
}  // namespace millrace::arrow_module

// What is known of a file: of Parquet its footer, of messages the schema alone.
struct MillraceArrowFile {
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<parquet::FileMetaData> footer;  // Null for messages.
  std::vector<std::vector<int>> leaves = {};      // The columns of each field.
  int64_t size = 0;
};

// A part being decoded. What is decoded may outlive it, and keeps the pool.
struct MillraceArrowPart {
  using Field = std::unique_ptr<millrace::arrow_module::DecodedField>;

  const MillraceArrowFile& file;
  std::shared_ptr<millrace::arrow_module::MemoryFile> memory;
  std::shared_ptr<arrow::MemoryPool> pool;
  int64_t group = 0;
  std::mutex mutex = {};  // While a field is opened.
  std::unique_ptr<parquet::arrow::FileReader> reader = nullptr;
  std::vector<Field> fields = {};
};

namespace millrace::arrow_module {
namespace {

arrow::Status OpenFooter(const std::shared_ptr<CallbackFile>& bytes,
                         MillraceArrowFile& file) {
  auto opened = parquet::ParquetFileReader::Open(bytes);
  file.footer = opened->metadata();
  file.size = bytes->GetSize().ValueOrDie();
  ARROW_ASSIGN_OR_RAISE(const auto reader, parquet::arrow::FileReader::Make(
                                               arrow::default_memory_pool(),
                                               std::move(opened), PropertiesFor(1)));
  ARROW_RETURN_NOT_OK(reader->GetSchema(&file.schema));
  for (const parquet::arrow::SchemaField& field : reader->manifest().schema_fields) {
    AddLeaves(field, file.leaves.emplace_back());
  }
  for (int group = 0; group < file.footer->num_row_groups(); ++group) {
    if (file.footer->RowGroup(group)->num_rows() < 0) {
      return arrow::Status::Invalid("a row group says that it has less than no rows");
    }
  }
  return arrow::Status::OK();
}

int32_t OpenParquet(const MillraceArrowBytes* bytes, MillraceArrowFile** out,
                    MillraceArrowError* error) {
  const auto read = std::make_shared<CallbackFile>(*bytes);
  auto file = std::make_unique<MillraceArrowFile>();
  const int32_t kind = Guarded(error, [&] { return OpenFooter(read, *file); });
  if (kind != kMillraceArrowOk) return read->failed() ? kMillraceArrowRead : kind;
  *out = file.release();
  return kMillraceArrowOk;
}

int32_t OpenMessages(const MillraceArrowMemoryFile* memory, MillraceArrowFile** out,
                     MillraceArrowError* error) {
  return Guarded(error, [&]() -> arrow::Status {
    const auto bytes = std::make_shared<MemoryFile>(*memory);
    ARROW_ASSIGN_OR_RAISE(const auto reader,
                          arrow::ipc::RecordBatchStreamReader::Open(bytes));
    auto file = std::make_unique<MillraceArrowFile>();
    file->schema = reader->schema();
    file->size = memory->size;
    *out = file.release();
    return arrow::Status::OK();
  });
}

void CloseFile(MillraceArrowFile* file) { delete file; }

int32_t Schema(const MillraceArrowFile* file, ArrowSchema* out,
               MillraceArrowError* error) {
  return Guarded(error, [&] { return arrow::ExportSchema(*file->schema, out); });
}

int64_t Groups(const MillraceArrowFile* file) {
  return file->footer == nullptr ? 1 : file->footer->num_row_groups();
}

int64_t GroupRows(const MillraceArrowFile* file, int64_t group) {
  return file->footer->RowGroup(static_cast<int>(group))->num_rows();
}

// The sum of something over the columns of a field; a broken file has less than it
// says, and may say anything.
int64_t FieldBytes(const MillraceArrowFile* file, int64_t group, int64_t field) {
  int64_t bytes = 0;
  try {
    const auto row_group = file->footer->RowGroup(static_cast<int>(group));
    for (const int leaf : file->leaves[field]) {
      const int64_t more = row_group->ColumnChunk(leaf)->total_uncompressed_size();
      bytes += std::clamp<int64_t>(more, 0, int64_t{1} << 40);
    }
  } catch (const std::exception&) {
    return bytes;
  }
  return bytes;
}

// Writers count nulls below lists and structs in different ways: there we do not know.
bool SaysNoNulls(const parquet::FileMetaData& footer, int group, int leaf) {
  const parquet::ColumnDescriptor* const column = footer.schema()->Column(leaf);
  if (column->max_definition_level() == 0) return true;
  if (column->max_definition_level() > 1 || column->max_repetition_level() > 0) {
    return false;
  }
  const auto chunk = footer.RowGroup(group)->ColumnChunk(leaf);
  if (!chunk->is_stats_set()) return false;
  const auto statistics = chunk->statistics();
  return statistics != nullptr && statistics->HasNullCount() &&
         statistics->null_count() == 0;
}

int32_t MayHaveNulls(const MillraceArrowFile* file, int64_t group, int64_t field) {
  try {
    const bool none = std::ranges::all_of(file->leaves[field], [&](int leaf) {
      return SaysNoNulls(*file->footer, static_cast<int>(group), leaf);
    });
    return none ? 0 : 1;
  } catch (const std::exception&) {
    return 1;  // A broken file: whoever reads it will say so.
  }
}

arrow::Result<MillraceArrowRange> RangeOf(const parquet::ColumnChunkMetaData& chunk,
                                          int64_t file_size) {
  int64_t begin = chunk.data_page_offset();
  if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0) {
    begin = std::min(begin, chunk.dictionary_page_offset());
  }
  const int64_t size = chunk.total_compressed_size();
  if (begin < 0 || size < 0 || begin > file_size || size > file_size - begin) {
    return arrow::Status::Invalid("a column lies outside of the file");
  }
  return MillraceArrowRange{begin, std::min(size + kChunkPadding, file_size - begin)};
}

// NOLINTBEGIN(readability-function-size): the parameters are those of the interface.
int32_t Ranges(const MillraceArrowFile* file, int64_t group, int64_t field,
               MillraceArrowRange* room, int64_t room_count, int64_t* count,
               MillraceArrowError* error) {
  return Guarded(error, [&]() -> arrow::Status {
    const auto row_group = file->footer->RowGroup(static_cast<int>(group));
    *count = static_cast<int64_t>(file->leaves[field].size());
    for (int64_t i = 0; i < std::min(room_count, *count); ++i) {
      const auto chunk = row_group->ColumnChunk(file->leaves[field][i]);
      ARROW_ASSIGN_OR_RAISE(room[i], RangeOf(*chunk, file->size));
    }
    return arrow::Status::OK();
  });
}

int32_t OpenPart(const MillraceArrowFile* file, const MillraceArrowMemoryFile* memory,
                 const MillraceArrowAllocator* allocator, const MillraceArrowPlan* plan,
                 MillraceArrowPart** out, MillraceArrowError* error) {
  return Guarded(error, [&]() -> arrow::Status {
    // NOLINTNEXTLINE(modernize-make-unique): it has a lock, which does not move.
    std::unique_ptr<MillraceArrowPart> part(
        new MillraceArrowPart{.file = *file,
                              .memory = std::make_shared<MemoryFile>(*memory),
                              .pool = std::make_shared<LimitedPool>(*allocator),
                              .group = plan->group});
    part->fields.resize(file->schema->num_fields());
    if (file->footer != nullptr) {
      ARROW_ASSIGN_OR_RAISE(
          part->reader,
          parquet::arrow::FileReader::Make(
              part->pool.get(),
              parquet::ParquetFileReader::Open(
                  part->memory, parquet::ReaderProperties(part->pool.get()),
                  file->footer),
              PropertiesFor(plan->batch_rows)));
    }
    *out = part.release();
    return arrow::Status::OK();
  });
}

// NOLINTEND(readability-function-size)

// Goes through the batches of a reader that gives one field.
NextArray ArraysOf(const std::shared_ptr<arrow::RecordBatchReader>& reader) {
  return [reader]() -> arrow::Result<std::shared_ptr<arrow::Array>> {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return nullptr;
    if (batch->num_columns() != 1) {
      return arrow::Status::Invalid("a batch has not the fields of the schema");
    }
    return batch->column(0);
  };
}

arrow::Result<NextArray> OpenField(const MillraceArrowPart& part, int64_t field) {
  if (part.reader != nullptr) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatchReader> reader,
                          part.reader->GetRecordBatchReader(
                              {static_cast<int>(part.group)}, part.file.leaves[field]));
    return ArraysOf(reader);
  }
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = part.pool.get();
  options.use_threads = false;
  options.included_fields = {static_cast<int>(field)};
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::RecordBatchReader> reader,
      arrow::ipc::RecordBatchStreamReader::Open(part.memory->Again(), options));
  return ArraysOf(reader);
}

arrow::Result<DecodedField*> FieldOf(MillraceArrowPart& part, int64_t field) {
  const std::lock_guard<std::mutex> lock(part.mutex);
  if (part.fields[field] == nullptr) {
    ARROW_ASSIGN_OR_RAISE(NextArray next, OpenField(part, field));
    part.fields[field] =
        std::make_unique<DecodedField>(std::move(next), part.pool.get());
  }
  return part.fields[field].get();
}

// An array that keeps the pool its buffers came from.
struct HeldArray {
  ArrowArray array;
  std::shared_ptr<arrow::MemoryPool> pool;

  static void Release(ArrowArray* out) {
    auto* held = static_cast<HeldArray*>(out->private_data);
    held->array.release(&held->array);
    delete held;
    out->release = nullptr;
  }
};

arrow::Status Export(const arrow::Array& array, const MillraceArrowPart& part,
                     ArrowArray* out) {
  auto held = std::make_unique<HeldArray>();
  ARROW_RETURN_NOT_OK(arrow::ExportArray(array, &held->array));
  held->pool = part.pool;
  *out = held->array;
  out->release = HeldArray::Release;
  out->private_data = held.release();
  return arrow::Status::OK();
}

int32_t Next(MillraceArrowPart* part, int64_t field, int64_t rows, ArrowArray* out,
             MillraceArrowError* error) {
  return Guarded(error, [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(DecodedField* const decoded, FieldOf(*part, field));
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> array,
                          decoded->Take(rows));
    if (array == nullptr) {
      return arrow::Status::Invalid("a column has fewer rows than the file says");
    }
    // Messages hold arrays as they are: what those say is believed only then.
    ARROW_RETURN_NOT_OK(part->reader == nullptr ? array->ValidateFull()
                                                : array->Validate());
    return Export(*array, *part, out);
  });
}

void ClosePart(MillraceArrowPart* part) { delete part; }

constexpr MillraceArrowFunctions kFunctions = {
    .version = kMillraceArrowVersion,
    .library = "Arrow " ARROW_VERSION_STRING,
    .open_parquet = OpenParquet,
    .open_messages = OpenMessages,
    .close_file = CloseFile,
    .schema = Schema,
    .groups = Groups,
    .group_rows = GroupRows,
    .field_bytes = FieldBytes,
    .may_have_nulls = MayHaveNulls,
    .ranges = Ranges,
    .open_part = OpenPart,
    .next = Next,
    .close_part = ClosePart,
    .open_writer = OpenWriter,
    .write = WriteRows,
    .finish = FinishFile,
    .close_writer = CloseWriter,
};

}  // namespace
}  // namespace millrace::arrow_module

extern "C" __attribute__((visibility("default"))) const MillraceArrowFunctions*
millrace_arrow_functions() {
  return &millrace::arrow_module::kFunctions;
}
