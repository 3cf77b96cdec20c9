#include "millrace/core/buffer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "millrace/base/check.h"
#include "millrace/core/allocator.h"

namespace millrace::core {
namespace {

class ForeignStorage final : public Storage {
 public:
  ForeignStorage(Region region, std::shared_ptr<const void> owner)
      : Storage(region), owner_(std::move(owner)) {}

 private:
  const std::shared_ptr<const void> owner_;
};

}  // namespace

Buffer::Buffer(std::shared_ptr<Storage> storage, int64_t size)
    : storage_(std::move(storage)), size_(size) {
  CHECK(storage_ != nullptr);
  CHECK_GE(size, 0);
  CHECK_LE(size, storage_->region().size);
  data_ = storage_->region().data;
}

Buffer Buffer::Wrap(const void* data, int64_t size, std::shared_ptr<const void> owner) {
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(data));
  const Region region = {.data = bytes, .size = size};
  return {std::make_shared<ForeignStorage>(region, std::move(owner)), size};
}

Buffer Buffer::Slice(int64_t offset, int64_t size) const {
  CHECK_GE(offset, 0);
  CHECK_GE(size, 0);
  CHECK_LE(offset, size_ - size);
  Buffer part = *this;
  part.data_ = data_ + offset;
  part.size_ = size;
  return part;
}

Buffer Buffer::JoinedWith(const Buffer& next) const {
  CHECK(Precedes(next));
  Buffer both = *this;
  both.size_ += next.size_;
  return both;
}

}  // namespace millrace::core
