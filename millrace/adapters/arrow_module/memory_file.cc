#include "millrace/adapters/arrow_module/memory_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "arrow/buffer.h"
#include "arrow/result.h"
#include "arrow/status.h"

#include "millrace/adapters/arrow/interface.h"

namespace millrace::arrow_module {
namespace {

// A view that keeps the memory's owner.
class OwnedView final : public arrow::Buffer {
 public:
  OwnedView(const uint8_t* data, int64_t size, std::shared_ptr<void> owner)
      : arrow::Buffer(data, size), owner_(std::move(owner)) {}

 private:
  const std::shared_ptr<void> owner_;
};

}  // namespace

arrow::Status ReadOnlyFile::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

arrow::Status ReadOnlyFile::Seek(int64_t position) {
  if (position < 0 || position > size_) {
    return arrow::Status::Invalid("it points to a place outside of the file");
  }
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<int64_t> ReadOnlyFile::Read(int64_t size, void* room) {
  ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position_, size, room));
  position_ += got;
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ReadOnlyFile::Read(int64_t size) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> got, ReadAt(position_, size));
  position_ += got->size();
  return got;
}

arrow::Result<int64_t> ReadOnlyFile::Inside(int64_t position, int64_t size) const {
  if (position < 0 || position > size_ || size < 0) {
    return arrow::Status::Invalid("it points to a place outside of the file");
  }
  return std::min(size, size_ - position);
}

arrow::Result<int64_t> CallbackFile::ReadAt(int64_t position, int64_t size,
                                            void* room) {
  ARROW_ASSIGN_OR_RAISE(const int64_t inside, Inside(position, size));
  const int64_t got = bytes_.read(bytes_.context, position, inside, room);
  if (got < 0) {
    failed_ = true;
    return arrow::Status::IOError("the file could not be read");
  }
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> CallbackFile::ReadAt(int64_t position,
                                                                   int64_t size) {
  ARROW_ASSIGN_OR_RAISE(const int64_t inside, Inside(position, size));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> buffer,
                        arrow::AllocateResizableBuffer(inside));
  ARROW_ASSIGN_OR_RAISE(const int64_t got,
                        ReadAt(position, inside, buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(got));
  return buffer;
}

class MemoryFile::Owner {
 public:
  explicit Owner(const MillraceArrowMemoryFile& memory)
      : owner_(memory.owner), release_(memory.release) {}

  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  ~Owner() {
    if (release_ != nullptr) release_(owner_);
  }

 private:
  void* const owner_;
  void (*const release_)(void*);
};

MemoryFile::MemoryFile(const MillraceArrowMemoryFile& memory)
    : ReadOnlyFile(memory.size),
      owner_(std::make_shared<Owner>(memory)),
      pieces_(memory.pieces, memory.pieces + memory.count) {}

MemoryFile::MemoryFile(int64_t size, std::shared_ptr<Owner> owner,
                       std::vector<MillraceArrowPiece> pieces)
    : ReadOnlyFile(size), owner_(std::move(owner)), pieces_(std::move(pieces)) {}

std::shared_ptr<MemoryFile> MemoryFile::Again() const {
  return std::shared_ptr<MemoryFile>(new MemoryFile(size(), owner_, pieces_));
}

arrow::Result<const uint8_t*> MemoryFile::Find(int64_t position, int64_t size) const {
  const auto behind = std::ranges::partition_point(
      pieces_,
      [&](const MillraceArrowPiece& piece) { return piece.offset <= position; });
  if (behind == pieces_.begin() ||
      size > std::prev(behind)->offset + std::prev(behind)->size - position) {
    return arrow::Status::Invalid("it refers to bytes that are not of this part");
  }
  const MillraceArrowPiece& piece = *std::prev(behind);
  return static_cast<const uint8_t*>(piece.data) + (position - piece.offset);
}

arrow::Result<int64_t> MemoryFile::ReadAt(int64_t position, int64_t size, void* room) {
  ARROW_ASSIGN_OR_RAISE(const int64_t inside, Inside(position, size));
  if (inside == 0) return 0;
  ARROW_ASSIGN_OR_RAISE(const uint8_t* data, Find(position, inside));
  std::memcpy(room, data, inside);
  return inside;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> MemoryFile::ReadAt(int64_t position,
                                                                 int64_t size) {
  ARROW_ASSIGN_OR_RAISE(const int64_t inside, Inside(position, size));
  if (inside == 0) return std::make_shared<arrow::Buffer>(nullptr, 0);
  ARROW_ASSIGN_OR_RAISE(const uint8_t* data, Find(position, inside));
  return std::make_shared<OwnedView>(data, inside, owner_);
}

}  // namespace millrace::arrow_module
