#include "millrace/core/allocator.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::core {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

// Around every boundary: alignment, page, and where heap regions become mapped ones.
constexpr std::array<int64_t, 14> kSizes = {1,      63,     64,        65,     4095,
                                            4096,   4097,   262080,    262081, 262143,
                                            262144, 262145, 1'000'000, 1 << 22};

bool IsAligned(const Region& region) {
  return reinterpret_cast<uintptr_t>(region.data) % kAlignment == 0;
}

void Fill(const Region& region, unsigned char byte) {
  std::memset(region.data, byte, region.size);
}

bool IsFilled(const std::byte* data, int64_t size, unsigned char byte) {
  return std::all_of(data, data + size,
                     [&](std::byte b) { return b == std::byte{byte}; });
}

// Writes down what happens to the memory below.
class LoggingAllocator final : public Allocator {
 public:
  explicit LoggingAllocator(std::vector<std::string>* log) : log_(log) {}

  absl::StatusOr<Region> Allocate(int64_t size) override {
    log_->push_back(base::StrCat("allocate ", size));
    return heap_->Allocate(size);
  }

  void Free(const Region& region) override {
    log_->push_back(base::StrCat("free ", region.size));
    heap_->Free(region);
  }

 private:
  std::vector<std::string>* const log_;
  const std::unique_ptr<Allocator> heap_ = MakeHeapAllocator();
};

// Hooks that write into the same log, and fail when told to.
PinHooks LoggingHooks(std::vector<std::string>* log, const absl::Status& result) {
  return {
      .pin =
          [log, result](std::byte*, int64_t size) {
            log->push_back(base::StrCat("pin ", size));
            return result;
          },
      .unpin = [log](std::byte*,
                     int64_t size) { log->push_back(base::StrCat("unpin ", size)); }};
}

PinHooks QuietHooks() {
  return {.pin = [](std::byte*, int64_t) { return absl::OkStatus(); },
          .unpin = [](std::byte*, int64_t) {}};
}

std::vector<std::unique_ptr<Allocator>> AllAllocators() {
  std::vector<std::unique_ptr<Allocator>> all;
  all.push_back(MakeHeapAllocator());
  all.push_back(MakeSharedMemoryAllocator());
  all.push_back(MakePinnedAllocator(MakeHeapAllocator(), QuietHooks()));
  all.push_back(MakePinnedAllocator(MakeSharedMemoryAllocator(), QuietHooks()));
  return all;
}

TEST(AllocatorTest, RegionsAreAlignedWritableAndLargeEnough) {
  for (const auto& allocator : AllAllocators()) {
    for (const int64_t size : kSizes) {
      const absl::StatusOr<Region> region = allocator->Allocate(size);
      ASSERT_THAT(region, IsOk());
      EXPECT_TRUE(IsAligned(*region)) << size;
      EXPECT_GE(region->size, size);
      EXPECT_LT(region->size - size, allocator->granularity());
      EXPECT_EQ(region->size % allocator->granularity(), 0);
      Fill(*region, 0x5a);
      allocator->Free(*region);
    }
  }
}

// Freeing in the wrong way (unmapping what was malloc'ed) breaks the neighbours.
TEST(AllocatorTest, RegionsDoNotOverlapAndOutliveTheirNeighbours) {
  for (const auto& allocator : AllAllocators()) {
    std::vector<Region> regions;
    regions.reserve(kSizes.size());
    for (const int64_t size : kSizes) regions.push_back(*allocator->Allocate(size));
    for (size_t i = 0; i < regions.size(); ++i) {
      Fill(regions[i], static_cast<unsigned char>(i));
    }
    for (size_t i = 0; i < regions.size(); i += 2) allocator->Free(regions[i]);
    for (size_t i = 1; i < regions.size(); i += 2) {
      EXPECT_TRUE(
          IsFilled(regions[i].data, regions[i].size, static_cast<unsigned char>(i)));
      allocator->Free(regions[i]);
    }
  }
}

TEST(AllocatorTest, AnAbsurdSizeIsAnError) {
  constexpr int64_t kAbsurd = int64_t{1} << 60;
  for (const auto& allocator : AllAllocators()) {
    EXPECT_THAT(allocator->Allocate(kAbsurd),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr(base::StrCat(kAbsurd))));
  }
}

TEST(AllocatorTest, AskingForNothingIsAProgrammingError) {
  for (const auto& allocator : AllAllocators()) {
    EXPECT_DEATH((void)allocator->Allocate(0), "size > 0");
  }
}

TEST(AllocatorTest, HeapMemoryHasNoDescriptor) {
  const auto heap = MakeHeapAllocator();
  for (const int64_t size : {int64_t{100}, int64_t{1} << 20}) {
    const Region region = heap->Allocate(size).value();
    EXPECT_EQ(region.descriptor, -1);
    heap->Free(region);
  }
}

TEST(AllocatorTest, SharedMemoryIsSeenThroughASecondMapping) {
  const auto shared = MakeSharedMemoryAllocator();
  const Region region = shared->Allocate(10'000).value();
  Fill(region, 0x11);
  void* const mapped = mmap(nullptr, region.size, PROT_READ | PROT_WRITE, MAP_SHARED,
                            region.descriptor, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const second = static_cast<std::byte*>(mapped);
  EXPECT_TRUE(IsFilled(second, region.size, 0x11));
  second[region.size - 1] = std::byte{0x22};
  EXPECT_EQ(region.data[region.size - 1], std::byte{0x22});
  shared->Free(region);
  EXPECT_EQ(second[0], std::byte{0x11});  // Lives as long as any mapping.
  EXPECT_EQ(munmap(mapped, 12'288), 0);
}

TEST(AllocatorTest, SharedMemoryIsSeenByAChildProcess) {
  const auto shared = MakeSharedMemoryAllocator();
  const Region region = shared->Allocate(4096).value();
  Fill(region, 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    region.data[7] = std::byte{0x77};
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(region.data[7], std::byte{0x77});
  shared->Free(region);
}

TEST(AllocatorTest, SharedMemoryHasNoNameAndIsNotInherited) {
  const auto shared = MakeSharedMemoryAllocator();
  const Region region = shared->Allocate(4096).value();
  const std::string link = base::StrCat("/proc/self/fd/", region.descriptor);
  std::array<char, 256> target = {};
  ASSERT_GT(readlink(link.c_str(), target.data(), target.size() - 1), 0);
  EXPECT_THAT(target.data(), HasSubstr("memfd:millrace (deleted)"));
  EXPECT_NE(fcntl(region.descriptor, F_GETFD) & FD_CLOEXEC, 0);
  shared->Free(region);
}

TEST(AllocatorTest, SharedMemoryCannotBeShrunkOrGrown) {
  const auto shared = MakeSharedMemoryAllocator();
  const Region region = shared->Allocate(8192).value();
  EXPECT_NE(ftruncate(region.descriptor, 4096), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(ftruncate(region.descriptor, 16384), 0);
  // Whoever shares it decides later who may write.
  EXPECT_EQ(fcntl(region.descriptor, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  shared->Free(region);
}

TEST(AllocatorTest, FreeingSharedMemoryClosesItsDescriptor) {
  const auto shared = MakeSharedMemoryAllocator();
  const Region region = shared->Allocate(1).value();
  EXPECT_NE(fcntl(region.descriptor, F_GETFD), -1);
  shared->Free(region);
  EXPECT_EQ(fcntl(region.descriptor, F_GETFD), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(AllocatorTest, NoDescriptorsLeftIsAnError) {
  const auto shared = MakeSharedMemoryAllocator();
  const int next = dup(0);
  ASSERT_GE(next, 0);
  close(next);
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none_left = {.rlim_cur = static_cast<rlim_t>(next),
                            .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  EXPECT_THAT(shared->Allocate(4096),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("making shared memory failed for 4096 bytes")));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(AllocatorTest, PinningWrapsTheMemoryBelow) {
  std::vector<std::string> log;
  const auto pinned = MakePinnedAllocator(std::make_unique<LoggingAllocator>(&log),
                                          LoggingHooks(&log, absl::OkStatus()));
  const Region region = pinned->Allocate(100).value();
  Fill(region, 1);
  pinned->Free(region);
  EXPECT_THAT(log, ElementsAre("allocate 100", "pin 128", "unpin 128", "free 128"));
}

TEST(AllocatorTest, MemoryThatCannotBePinnedIsFreed) {
  std::vector<std::string> log;
  const auto pinned = MakePinnedAllocator(
      std::make_unique<LoggingAllocator>(&log),
      LoggingHooks(&log, absl::ResourceExhaustedError("no more lockable memory")));
  EXPECT_THAT(pinned->Allocate(64),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "pinning memory: no more lockable memory"));
  EXPECT_THAT(log, ElementsAre("allocate 64", "pin 64", "free 64"));
}

TEST(AllocatorTest, PinnedMemoryHasTheGranularityOfWhatIsBelow) {
  EXPECT_EQ(MakePinnedAllocator(MakeHeapAllocator(), QuietHooks())->granularity(),
            kAlignment);
  EXPECT_EQ(
      MakePinnedAllocator(MakeSharedMemoryAllocator(), QuietHooks())->granularity(),
      4096);
}

TEST(AllocatorTest, PinningNeedsBothHooks) {
  EXPECT_DEATH(MakePinnedAllocator(nullptr, QuietHooks()), "below");
  PinHooks half = QuietHooks();
  half.unpin = nullptr;
  EXPECT_DEATH(MakePinnedAllocator(MakeHeapAllocator(), std::move(half)), "unpin");
}

}  // namespace
}  // namespace millrace::core
