#include "millrace/adapters/arrow_module/limited_pool.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "arrow/memory_pool.h"
#include "arrow/status.h"

namespace millrace::arrow_module {
namespace {

constexpr int64_t kUsedMax = int64_t{2} << 30;
constexpr int64_t kLarge = 4096;
constexpr int64_t kBefore = 64;  // Room for the handle, before what is given out.

// Whether a piece is the user's: told by its size and alignment, which never change.
bool IsLarge(int64_t size, int64_t alignment) {
  return size >= kLarge && alignment <= kBefore;
}

}  // namespace

arrow::Status LimitedPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (size > kUsedMax - used_) {
    return arrow::Status::OutOfMemory("decoding a part of it takes over 2 GiB");
  }
  if (!IsLarge(size, alignment)) {
    ARROW_RETURN_NOT_OK(arrow::ProxyMemoryPool::Allocate(size, alignment, out));
  } else {
    void* handle = nullptr;
    void* const memory =
        allocator_.allocate(allocator_.context, size + kBefore, &handle);
    if (memory == nullptr) {
      return arrow::Status::OutOfMemory("there is not enough memory");
    }
    std::memcpy(memory, static_cast<const void*>(&handle), sizeof(handle));
    *out = static_cast<uint8_t*>(memory) + kBefore;
  }
  used_ += size;
  return arrow::Status::OK();
}

arrow::Status LimitedPool::Reallocate(int64_t old_size, int64_t new_size,
                                      int64_t alignment, uint8_t** place) {
  // What becomes a little smaller, as all decoded values do at last, stays.
  if (IsLarge(new_size, alignment) && new_size <= old_size && new_size > old_size / 2) {
    used_ -= old_size - new_size;
    return arrow::Status::OK();
  }
  uint8_t* moved = nullptr;
  ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
  const int64_t kept = std::min(old_size, new_size);
  if (kept > 0) std::memcpy(moved, *place, kept);
  Free(*place, old_size, alignment);
  *place = moved;
  return arrow::Status::OK();
}

void LimitedPool::Free(uint8_t* place, int64_t size, int64_t alignment) {
  used_ -= size;
  if (!IsLarge(size, alignment)) {
    arrow::ProxyMemoryPool::Free(place, size, alignment);
    return;
  }
  void* handle = nullptr;
  std::memcpy(static_cast<void*>(&handle), place - kBefore, sizeof(handle));
  allocator_.free(handle);
}

}  // namespace millrace::arrow_module
