// Memory for one part's decoding. Large pieces come from whoever uses the module, so
// that they count where all its memory counts; small ones from Arrow's own pool. There
// is a limit to all of it: a page that says it is larger is not worth believing.
// From any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "arrow/memory_pool.h"
#include "arrow/status.h"

#include "millrace/adapters/arrow/interface.h"

namespace millrace::arrow_module {

class LimitedPool final : public arrow::ProxyMemoryPool {
 public:
  explicit LimitedPool(const MillraceArrowAllocator& allocator)
      : arrow::ProxyMemoryPool(arrow::default_memory_pool()), allocator_(allocator) {}

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** place) override;
  void Free(uint8_t* place, int64_t size, int64_t alignment) override;

 private:
  const MillraceArrowAllocator allocator_;
  std::atomic<int64_t> used_ = 0;
};

}  // namespace millrace::arrow_module
