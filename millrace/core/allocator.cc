#include "millrace/core/allocator.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::core {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kMapFrom = int64_t{256}
                             << 10;  // Larger regions are mapped, not malloc'ed.

int64_t RoundUp(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

absl::Status OutOfMemory(std::string_view what, int64_t size) {
  return absl::ErrnoToStatus(errno, base::StrCat(what, " failed for ", size, " bytes"));
}

absl::StatusOr<std::byte*> Map(int64_t size, int flags, int descriptor) {
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (data == MAP_FAILED) return OutOfMemory("mapping memory", size);
  return static_cast<std::byte*>(data);
}

class HeapAllocator final : public Allocator {
 public:
  absl::StatusOr<Region> Allocate(int64_t size) override {
    CHECK_GT(size, 0);
    size = RoundUp(size, kAlignment);
    if (size >= kMapFrom) {
      return Region{TRY(Map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1)), size};
    }
    void* data = std::aligned_alloc(kAlignment, size);
    if (data == nullptr) return OutOfMemory("allocating memory", size);
    return Region{static_cast<std::byte*>(data), size};
  }

  void Free(const Region& region) override {
    if (region.size >= kMapFrom) {
      CHECK_EQ(munmap(region.data, region.size), 0);
    } else {
      std::free(region.data);
    }
  }
};

class SharedMemoryAllocator final : public Allocator {
 public:
  int64_t granularity() const override { return kPage; }

  absl::StatusOr<Region> Allocate(int64_t size) override {
    CHECK_GT(size, 0);
    size = RoundUp(size, kPage);
    const int descriptor = memfd_create("millrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return OutOfMemory("making shared memory", size);
    const absl::StatusOr<std::byte*> data = SizeAndMap(descriptor, size);
    if (!data.ok()) {
      close(descriptor);
      return data.status();
    }
    return Region{*data, size, descriptor};
  }

  void Free(const Region& region) override {
    CHECK_EQ(munmap(region.data, region.size), 0);
    CHECK_EQ(close(region.descriptor), 0);
  }

 private:
  static absl::StatusOr<std::byte*> SizeAndMap(int descriptor, int64_t size) {
    if (ftruncate(descriptor, size) != 0 ||
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
      return OutOfMemory("sizing shared memory", size);
    }
    return Map(size, MAP_SHARED, descriptor);
  }
};

class PinnedAllocator final : public Allocator {
 public:
  PinnedAllocator(std::unique_ptr<Allocator> below, PinHooks hooks)
      : below_(std::move(below)), hooks_(std::move(hooks)) {}

  int64_t granularity() const override { return below_->granularity(); }

  absl::StatusOr<Region> Allocate(int64_t size) override {
    const Region region = TRY(below_->Allocate(size));
    const absl::Status pinned = hooks_.pin(region.data, region.size);
    if (!pinned.ok()) {
      below_->Free(region);
      return base::Annotate(pinned, "pinning memory");
    }
    return region;
  }

  void Free(const Region& region) override {
    hooks_.unpin(region.data, region.size);
    below_->Free(region);
  }

 private:
  const std::unique_ptr<Allocator> below_;
  const PinHooks hooks_;
};

}  // namespace

std::unique_ptr<Allocator> MakeHeapAllocator() {
  return std::make_unique<HeapAllocator>();
}

std::unique_ptr<Allocator> MakeSharedMemoryAllocator() {
  return std::make_unique<SharedMemoryAllocator>();
}

std::unique_ptr<Allocator> MakePinnedAllocator(std::unique_ptr<Allocator> below,
                                               PinHooks hooks) {
  CHECK(below != nullptr);
  CHECK(hooks.pin && hooks.unpin);
  return std::make_unique<PinnedAllocator>(std::move(below), std::move(hooks));
}

}  // namespace millrace::core
