#include "millrace/adapters/arrow/messages_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/interface.h"
#include "millrace/adapters/arrow/messages.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {
namespace {

// Reads a message that a file begins with.
absl::StatusOr<Fetched> Fetch(const storage::Blob& blob, const Message& message) {
  core::Buffer bytes = TRY(core::HeapPool().Allocate(message.size));
  const int64_t got = TRY(blob.Read(
      message.offset, absl::Span<std::byte>(bytes.mutable_data(), bytes.size())));
  if (got < message.size) {
    return absl::DataLossError(
        base::StrCat("its schema is cut off; file ", blob.info().path));
  }
  return Fetched{.place = 0, .bytes = std::move(bytes)};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ColumnarFile>> MessagesFile::Open(
    const storage::Blob& blob, const MillraceArrowFunctions* module) {
  Messages messages = TRY(FindMessages(blob));
  MemoryView view({TRY(Fetch(blob, messages.schema))});
  const MillraceArrowMemoryFile memory = view.Release();
  MillraceArrowFile* opened = nullptr;
  MillraceArrowError error = {};
  const int32_t kind = module->open_messages(&memory, &opened, &error);
  if (kind != kMillraceArrowOk) return ErrorOf(kind, error, blob.info().path);
  std::shared_ptr<MessagesFile> file(new MessagesFile(blob.info(), module));
  TRY(file->Take(FileHandle(opened, FileCloser{module})));
  std::erase_if(messages.batches,
                [](const BatchMessage& batch) { return batch.rows == 0; });
  for (const BatchMessage& batch : messages.batches) TRY(file->AddPart(batch.rows));
  file->messages_ = std::move(messages);
  return file;
}

double MessagesFile::RowBytes(int64_t part, absl::Span<const int64_t>) const {
  const BatchMessage& batch = messages_.batches[part];
  return static_cast<double>(batch.message.size) / static_cast<double>(batch.rows);
}

absl::StatusOr<std::vector<Needed>> MessagesFile::NeededFor(
    int64_t part, absl::Span<const int64_t>) const {
  const BatchMessage& batch = messages_.batches[part];
  std::vector<Needed> needed;
  int64_t place = 0;
  const auto add = [&](const Message& message) {
    needed.push_back({message.offset, message.size, place});
    place += message.size;
  };
  add(messages_.schema);
  for (int64_t i = 0; i < batch.dictionaries; ++i) add(messages_.dictionaries[i]);
  add(batch.message);
  return needed;
}

}  // namespace millrace::arrow
