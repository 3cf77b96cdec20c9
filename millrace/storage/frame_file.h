// A file of frames: blocks one behind the other, and at its end a table that says where
// each begins, so that reading can begin at any row. What was not written to its end is
// no such file.
//
//   frames ...  table: a note, bytes and rows of each  end: mark, sizes, checksum (32
//   bytes)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/frames/frame.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/frame_run.h"

namespace millrace::storage {

class FrameFileWriter {
 public:
  // `note` is any text to be found in the file again.
  explicit FrameFileWriter(std::unique_ptr<BlobWriter> file, std::string note = "")
      : file_(std::move(file)), note_(std::move(note)) {}

  absl::Status Append(const frames::Frame& frame);

  // Bytes of the frames so far.
  int64_t bytes() const { return bytes_; }

  // Makes the file appear. Call it once, last.
  absl::Status Publish(Sync sync);

 private:
  const std::unique_ptr<BlobWriter> file_;
  const std::string note_;
  std::vector<frames::FrameSize> table_;
  int64_t bytes_ = 0;
};

class FrameFile final : public FrameRun {
 public:
  // Reads the table. DataLoss where the file is damaged; errors name the file.
  static absl::StatusOr<std::unique_ptr<FrameFile>> Open(std::unique_ptr<Blob> file);

  absl::Span<const frames::FrameSize> frames() const override { return table_; }

  int64_t rows() const { return rows_; }

  const std::string& note() const { return note_; }

  absl::Status Read(int64_t frame, absl::Span<std::byte> room) const override;
  absl::StatusOr<int64_t> ReadNow(int64_t frame,
                                  absl::Span<std::byte> room) const override;

  std::string name() const override { return file_->info().path; }

 private:
  explicit FrameFile(std::unique_ptr<Blob> file) : file_(std::move(file)) {}

  absl::Status ReadTable();
  absl::Status TakeTable(std::string_view table, uint64_t count, int64_t end);

  const std::unique_ptr<Blob> file_;
  std::vector<frames::FrameSize> table_;
  std::vector<int64_t> offsets_;
  int64_t rows_ = 0;
  std::string note_;
};

}  // namespace millrace::storage
