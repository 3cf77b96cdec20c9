#include "millrace/bench/sample_files.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/codec/crc32c.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/tar_writer.h"

namespace millrace::bench {
namespace {

// Bytes that do not compress.
std::string Noise(int64_t bytes) {
  base::Generator draw(base::RandomKey(1, 2, 3), {});
  std::string noise(bytes, '\0');
  for (char& c : noise) c = static_cast<char>(draw.Integer(0, 256));
  return noise;
}

std::string Word32(uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string Word64(uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

bool IsThere(const std::string& path) {
  return storage::ProcessFiles().Find(path).ok();
}

}  // namespace

std::string TfrecordFrame(std::string_view row) {
  const std::string length = Word64(row.size());
  return length + Word32(codec::MaskCrc32c(codec::Crc32c(length))) + std::string(row) +
         Word32(codec::MaskCrc32c(codec::Crc32c(row)));
}

absl::StatusOr<std::string> MakeTfrecord(const std::string& folder, int64_t rows,
                                         int64_t row_bytes) {
  std::string path = absl::StrFormat("%s/rows-%d-%d.tfrecord", folder, rows, row_bytes);
  if (IsThere(path)) return path;
  const std::unique_ptr<storage::BlobWriter> file =
      TRY(storage::ProcessFiles().Create(path));
  const std::string frame = TfrecordFrame(Noise(row_bytes));
  for (int64_t i = 0; i < rows; ++i) TRY(file->Append(frame));
  TRY(file->Publish(storage::Sync::kNow));
  return path;
}

absl::StatusOr<std::string> MakeTar(const std::string& folder, int64_t rows,
                                    int64_t row_bytes) {
  std::string path = absl::StrFormat("%s/rows-%d-%d.tar", folder, rows, row_bytes);
  if (IsThere(path)) return path;
  storage::TarWriter tar(TRY(storage::ProcessFiles().Create(path)));
  const std::string row = Noise(row_bytes);
  for (int64_t i = 0; i < rows; ++i) {
    TRY(tar.Add(absl::StrFormat("%08d.bin", i), row));
  }
  TRY(tar.Publish());
  return path;
}

absl::StatusOr<RowFile> MakeRowFile(const std::string& path, std::string_view head,
                                    int64_t rows,
                                    absl::FunctionRef<std::string(int64_t)> row) {
  if (!IsThere(path)) {
    const std::unique_ptr<storage::BlobWriter> file =
        TRY(storage::ProcessFiles().Create(path));
    TRY(file->Append(head));
    for (int64_t i = 0; i < rows; ++i) TRY(file->Append(row(i)));
    TRY(file->Publish(storage::Sync::kNow));
  }
  const storage::BlobInfo info = TRY(storage::ProcessFiles().Find(path));
  return RowFile{path, info.bytes};
}

}  // namespace millrace::bench
