// Files as Arrow sees them: over a callback while a footer is read, and over stretches
// that are in memory while rows are decoded. Read-only; safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "arrow/buffer.h"
#include "arrow/io/interfaces.h"
#include "arrow/result.h"
#include "arrow/status.h"

#include "millrace/adapters/arrow/interface.h"

namespace millrace::arrow_module {

// What both have: places to read at, and a position for who reads on.
class ReadOnlyFile : public arrow::io::RandomAccessFile {
 public:
  using arrow::io::RandomAccessFile::ReadAt;

  explicit ReadOnlyFile(int64_t size) : size_(size) {}

  int64_t size() const { return size_; }

  arrow::Status Close() override;

  bool closed() const override { return closed_; }

  arrow::Result<int64_t> GetSize() override { return size_; }

  arrow::Result<int64_t> Tell() const override { return position_; }

  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> Read(int64_t size, void* room) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override;

 protected:
  // How much of [position, position + size) lies in the file.
  arrow::Result<int64_t> Inside(int64_t position, int64_t size) const;

 private:
  const int64_t size_;
  int64_t position_ = 0;
  bool closed_ = false;
};

class CallbackFile final : public ReadOnlyFile {
 public:
  // Requires: the bytes can be read while it is used.
  explicit CallbackFile(const MillraceArrowBytes& bytes)
      : ReadOnlyFile(bytes.size), bytes_(bytes) {}

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* room) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t size) override;

  bool failed() const { return failed_; }

 private:
  const MillraceArrowBytes bytes_;
  bool failed_ = false;
};

class MemoryFile final : public ReadOnlyFile {
 public:
  // Takes over the memory.
  explicit MemoryFile(const MillraceArrowMemoryFile& memory);

  // The same bytes, to be read from the beginning by somebody else.
  std::shared_ptr<MemoryFile> Again() const;

  bool supports_zero_copy() const override { return true; }

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* room) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t size) override;

 private:
  class Owner;

  MemoryFile(int64_t size, std::shared_ptr<Owner> owner,
             std::vector<MillraceArrowPiece> pieces);

  // Finds bytes that are all in memory.
  arrow::Result<const uint8_t*> Find(int64_t position, int64_t size) const;

  const std::shared_ptr<Owner> owner_;
  const std::vector<MillraceArrowPiece> pieces_;
};

}  // namespace millrace::arrow_module
