#include "millrace/core/large_shared_allocator.h"

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "millrace/core/allocator.h"

namespace millrace::core {
namespace {

class LargeSharedAllocator final : public Allocator {
 public:
  explicit LargeSharedAllocator(const LargeSharedOptions& options)
      : options_(options) {}

  int64_t granularity() const override { return heap_->granularity(); }

  absl::StatusOr<Region> Allocate(int64_t size) override {
    // Others than whole pages would come back larger than asked for.
    const bool whole = size % shared_->granularity() == 0;
    if (size < options_.bytes_least || !whole) return heap_->Allocate(size);
    absl::StatusOr<Region> region = shared_->Allocate(size);
    if (!region.ok()) return heap_->Allocate(size);
    if (region->descriptor < options_.descriptors_max) return region;
    shared_->Free(*region);
    return heap_->Allocate(size);
  }

  void Free(const Region& region) override {
    (region.descriptor >= 0 ? shared_ : heap_)->Free(region);
  }

 private:
  const LargeSharedOptions options_;
  const std::unique_ptr<Allocator> heap_ = MakeHeapAllocator();
  const std::unique_ptr<Allocator> shared_ = MakeSharedMemoryAllocator();
};

}  // namespace

std::unique_ptr<Allocator> MakeLargeSharedAllocator(const LargeSharedOptions& options) {
  return std::make_unique<LargeSharedAllocator>(options);
}

}  // namespace millrace::core
