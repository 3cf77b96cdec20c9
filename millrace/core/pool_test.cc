#include "millrace/core/pool.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"

namespace millrace::core {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

// What an allocator has given out and not got back.
struct Ledger {
  std::atomic<int64_t> live_bytes = 0;
  std::atomic<int64_t> live_regions = 0;
  std::atomic<int64_t> calls = 0;
  std::atomic<int64_t> fail_at_call = -1;
};

class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(std::shared_ptr<Ledger> ledger)
      : ledger_(std::move(ledger)) {}

  absl::StatusOr<Region> Allocate(int64_t size) override {
    if (ledger_->calls++ == ledger_->fail_at_call) {
      return absl::ResourceExhaustedError("the machine has no memory");
    }
    absl::StatusOr<Region> region = heap_->Allocate(size);
    ledger_->live_bytes += region->size;
    ++ledger_->live_regions;
    return region;
  }

  void Free(const Region& region) override {
    ledger_->live_bytes -= region.size;
    --ledger_->live_regions;
    heap_->Free(region);
  }

 private:
  const std::shared_ptr<Ledger> ledger_;
  const std::unique_ptr<Allocator> heap_ = MakeHeapAllocator();
};

struct CountedPool {
  explicit CountedPool(PoolOptions options = {})
      : pool(std::make_unique<Pool>(std::make_unique<CountingAllocator>(ledger),
                                    options)) {}

  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
  std::unique_ptr<Pool> pool;
};

int64_t HeldBy(const Buffer& buffer) { return buffer.storage()->region().size; }

bool IsAligned(const Buffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data()) % kAlignment == 0;
}

TEST(PoolTest, GivesAlignedBuffersOfExactlyTheSizeAskedFor) {
  Pool pool(MakeHeapAllocator(), {});
  for (int64_t size = 1; size < 3'000'000; size = size * 5 / 3 + 1) {
    Buffer buffer = pool.Allocate(size).value();
    EXPECT_EQ(buffer.size(), size);
    EXPECT_TRUE(IsAligned(buffer)) << size;
    std::memset(buffer.mutable_data(), 0xff, size);
  }
}

TEST(PoolTest, GivesBuffersForValuesOfAType) {
  EXPECT_EQ(HeapPool().AllocateFor<int64_t>(5).value().size(), 40);
  EXPECT_EQ(HeapPool().AllocateFor<uint16_t>(0).value().size(), 0);
}

TEST(PoolTest, NoBytesCostNothing) {
  const CountedPool counted;
  EXPECT_EQ(counted.pool->Allocate(0).value().data(), nullptr);
  EXPECT_EQ(counted.ledger->calls, 0);
}

TEST(PoolTest, LeavesLittleOfALargeBufferUnused) {
  Pool pool(MakeHeapAllocator(), {});
  for (int64_t size = 512; size < 3'000'000; size = size * 9 / 8 + 1) {
    EXPECT_LE(HeldBy(pool.Allocate(size).value()) - size, size / 8) << size;
  }
}

TEST(PoolTest, ReusesThePagesOfABufferThatIsGone) {
  const CountedPool counted;
  const std::byte* const first = counted.pool->Allocate(100'000).value().data();
  const Buffer second = counted.pool->Allocate(99'000).value();  // About the same size.
  EXPECT_EQ(second.data(), first);
  EXPECT_EQ(second.size(), 99'000);
  EXPECT_EQ(counted.ledger->calls, 1);
  EXPECT_EQ(counted.pool->stats().allocations, 1);
  EXPECT_EQ(counted.pool->stats().reuses, 1);
}

// Batches that are padded to their largest row are all of other sizes.
TEST(PoolTest, ALargeRegionServesForLessToo) {
  constexpr int64_t kMegabyte = int64_t{1} << 20;
  const CountedPool counted;
  const auto region = [&](int64_t size) {
    return counted.pool->Allocate(size).value().storage()->region().size;
  };
  const int64_t held = region(12 * kMegabyte);
  EXPECT_EQ(region(8 * kMegabyte), held);
  EXPECT_EQ(counted.pool->stats().cached_bytes, held) << "all of it came back";
  EXPECT_LT(region(7 * kMegabyte), held) << "too little of it would be used";
  const Buffer used = counted.pool->Allocate(11 * kMegabyte).value();
  EXPECT_EQ(counted.pool->stats().used_bytes, held);
  EXPECT_EQ(counted.ledger->calls, 2);
}

TEST(PoolTest, DoesNotReuseWhatSomebodyStillHolds) {
  Pool pool(MakeHeapAllocator(), {});
  Buffer whole = pool.Allocate(1000).value();
  const Buffer part = whole.Slice(500, 10);
  const std::byte* const data = whole.data();
  whole = Buffer();
  EXPECT_NE(pool.Allocate(1000).value().data(), data);
  EXPECT_EQ(part.data(), data + 500);
}

TEST(PoolTest, CountsWhatIsUsedAndWhatIsKept) {
  Pool pool(MakeHeapAllocator(), {});
  std::optional<Buffer> a = pool.Allocate(1024).value();
  std::optional<Buffer> b = pool.Allocate(64).value();
  EXPECT_EQ(pool.stats().used_bytes, 1088);
  EXPECT_EQ(pool.stats().cached_bytes, 0);
  a.reset();
  EXPECT_EQ(pool.stats().used_bytes, 64);
  EXPECT_EQ(pool.stats().cached_bytes, 1024);
  b.reset();
  EXPECT_EQ(pool.stats().used_bytes, 0);
  EXPECT_EQ(pool.stats().peak_bytes, 1088);
}

TEST(PoolTest, WhatIsRetiredIsNotUsedAgain) {
  Pool pool(MakeHeapAllocator(), {});
  {
    const Buffer buffer = pool.Allocate(1 << 20).value();
    const Buffer part = buffer.Slice(0, 10);
    part.storage()->Retire();
    EXPECT_EQ(pool.stats().used_bytes, 1 << 20);
  }
  EXPECT_EQ(pool.stats().used_bytes, 0);
  EXPECT_EQ(pool.stats().cached_bytes, 0);
}

TEST(PoolTest, TrimGivesEverythingKeptBack) {
  const CountedPool counted;
  const Buffer held = counted.pool->Allocate(64).value();
  for (const int64_t size : {100, 10'000, 1'000'000}) {
    ASSERT_THAT(counted.pool->Allocate(size), IsOk());
  }
  counted.pool->Trim();
  EXPECT_EQ(counted.pool->stats().cached_bytes, 0);
  EXPECT_EQ(counted.ledger->live_bytes, 64);
}

TEST(PoolTest, AFullBudgetIsAnErrorThatSaysWhatIsWanted) {
  Pool pool(MakeHeapAllocator(), {.budget_bytes = 4096});
  std::optional<Buffer> most = pool.Allocate(3072).value();
  EXPECT_THAT(
      pool.Allocate(2048),
      StatusIs(absl::StatusCode::kResourceExhausted,
               "memory budget is full: 2048 bytes wanted, 3072 of 4096 in use"));
  EXPECT_THAT(pool.Allocate(1024), IsOk());
  most.reset();
  EXPECT_THAT(pool.Allocate(2048), IsOk());
}

TEST(PoolTest, ABufferLargerThanTheBudgetNeverFits) {
  Pool pool(MakeHeapAllocator(), {.budget_bytes = 4096});
  EXPECT_THAT(pool.Allocate(4097), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(pool.Allocate(4096), IsOk());
}

TEST(PoolTest, WhatIsKeptMakesRoomForWhatIsWanted) {
  const CountedPool counted({.budget_bytes = 4096});
  ASSERT_THAT(counted.pool->Allocate(4096), IsOk());  // Kept from here on.
  const Buffer small = counted.pool->Allocate(64).value();
  EXPECT_EQ(counted.pool->stats().cached_bytes, 0);
  EXPECT_EQ(counted.ledger->live_bytes, 64);
}

TEST(PoolTest, AnAbsurdSizeIsAnError) {
  for (const int64_t size : {(int64_t{1} << 46) + 1, INT64_MAX}) {
    EXPECT_THAT(
        HeapPool().Allocate(size),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("absurdly large")));
  }
  EXPECT_THAT(HeapPool().AllocateFor<int64_t>(INT64_MAX / 4),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(PoolTest, WhatLeavesTheBudgetMakesRoomAndIsKeptWhenItComesBack) {
  Pool pool(MakeHeapAllocator(), {.budget_bytes = 4096});
  std::optional<Buffer> gone = pool.Allocate(4096).value();
  gone->storage()->LeaveBudget();
  gone->storage()->LeaveBudget();  // Once is enough.
  EXPECT_EQ(pool.stats().used_bytes, 0);
  std::optional<Buffer> next = pool.Allocate(2048).value();
  gone.reset();  // Does not fit beside the other: given back.
  EXPECT_EQ(pool.stats().used_bytes, 2048);
  EXPECT_EQ(pool.stats().cached_bytes, 0);
  next->storage()->LeaveBudget();
  next.reset();  // Fits: kept.
  EXPECT_EQ(pool.stats().used_bytes, 0);
  EXPECT_EQ(pool.stats().cached_bytes, 2048);
}

TEST(PoolTest, ThePeakSeesWhatComesBackFromOutsideTheBudget) {
  Pool pool(MakeHeapAllocator(), {});
  std::optional<Buffer> gone = pool.Allocate(1024).value();
  gone->storage()->LeaveBudget();
  const Buffer held = pool.Allocate(1024).value();
  EXPECT_EQ(pool.stats().peak_bytes, 1024);
  gone.reset();
  EXPECT_EQ(pool.stats().peak_bytes, 2048);
}

TEST(PoolTest, BuffersOutliveThePool) {
  CountedPool counted;
  Buffer buffer = counted.pool->Allocate(1000).value();
  ASSERT_THAT(counted.pool->Allocate(5000), IsOk());
  counted.pool.reset();
  EXPECT_EQ(counted.ledger->live_regions, 1);  // What was kept is gone.
  std::memset(buffer.mutable_data(), 0x33, 1000);
  const Buffer part = buffer.Slice(999, 1);
  buffer = Buffer();
  EXPECT_EQ(part.data()[0], std::byte{0x33});
}

TEST(PoolTest, NothingIsKeptOnceThePoolIsGone) {
  CountedPool counted;
  const Buffer held = counted.pool->Allocate(1000).value();
  std::optional<Buffer> other = counted.pool->Allocate(1000).value();
  counted.pool.reset();
  other.reset();
  EXPECT_EQ(counted.ledger->live_regions, 1);
}

TEST(PoolTest, TheLastBufferFreesItsMemoryAfterThePool) {
  CountedPool counted;
  std::optional<Buffer> buffer = counted.pool->Allocate(1000).value();
  counted.pool.reset();
  buffer->storage()->LeaveBudget();
  buffer.reset();
  EXPECT_EQ(counted.ledger->live_regions, 0);
}

TEST(PoolTest, AFailingAllocatorIsAnErrorAndChangesNothing) {
  const CountedPool counted;
  const Buffer held = counted.pool->Allocate(64).value();
  counted.ledger->fail_at_call = 1;
  EXPECT_THAT(
      counted.pool->Allocate(128),
      StatusIs(absl::StatusCode::kResourceExhausted, "the machine has no memory"));
  EXPECT_EQ(counted.pool->stats().used_bytes, 64);
  EXPECT_EQ(counted.pool->stats().allocations, 1);
  EXPECT_THAT(counted.pool->Allocate(128), IsOk());
}

TEST(PoolTest, SharedMemoryIsCountedInWholePages) {
  Pool pool(MakeSharedMemoryAllocator(), {.budget_bytes = 8192});
  const Buffer first = pool.Allocate(1).value();
  EXPECT_GE(first.storage()->region().descriptor, 0);
  EXPECT_EQ(pool.stats().used_bytes, 4096);
  const Buffer second = pool.Allocate(1).value();
  EXPECT_THAT(pool.Allocate(1), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(PoolTest, PinsAndUnpinsTheSameRegions) {
  std::vector<std::pair<const std::byte*, int64_t>> pinned;
  PinHooks hooks;
  hooks.pin = [&](std::byte* data, int64_t size) {
    pinned.emplace_back(data, size);
    return absl::OkStatus();
  };
  hooks.unpin = [&](std::byte* data, int64_t size) {
    EXPECT_EQ(std::erase(pinned, std::pair<const std::byte*, int64_t>(data, size)), 1U);
  };
  {
    Pool pool(MakePinnedAllocator(MakeSharedMemoryAllocator(), hooks), {});
    for (const int64_t size : {1, 5000, 100'000, 5000}) {
      ASSERT_THAT(pool.Allocate(size), IsOk());
    }
    EXPECT_EQ(pinned.size(), 3U);  // Pinned once, however often it is used.
  }
  EXPECT_TRUE(pinned.empty());
}

TEST(PoolTest, TheHeapPoolIsOneForTheProcess) {
  EXPECT_EQ(&HeapPool(), &HeapPool());
  EXPECT_THAT(HeapPool().Allocate(10), IsOk());
}

// Random traffic beside a plain account of who holds what.
class Traffic {
 public:
  explicit Traffic(uint64_t seed)
      : random_(base::RandomKey(seed, 0, 0), base::Hash128{}) {}

  void Step() {
    const int64_t choice = random_.Integer(0, 10);
    if (choice < 5) {
      TakeOne(random_.Integer(0, 8000));
    } else if (choice < 8 && !held_.empty()) {
      held_.erase(held_.begin() + random_.Integer(0, std::ssize(held_)));
    } else if (choice == 8 && !held_.empty()) {
      Held& held = held_[random_.Integer(0, std::ssize(held_))];
      held.buffer.storage()->LeaveBudget();
      held.counted = false;
    } else if (random_.Integer(0, 20) == 0) {
      counted_.pool->Trim();
    }
  }

  void Check() {
    const PoolStats stats = counted_.pool->stats();
    int64_t used = 0;
    int64_t outside = 0;
    for (const Held& held : held_) {
      (held.counted ? used : outside) += HeldBy(held.buffer);
    }
    peak_ = std::max(peak_, stats.used_bytes + stats.cached_bytes);
    ASSERT_EQ(stats.used_bytes, used);
    ASSERT_LE(stats.used_bytes + stats.cached_bytes, kBudget);
    ASSERT_EQ(stats.peak_bytes, peak_);
    ASSERT_EQ(counted_.ledger->live_bytes, used + stats.cached_bytes + outside);
    ASSERT_EQ(counted_.ledger->calls, stats.allocations);
  }

  void End() {
    held_.clear();
    counted_.pool.reset();
    EXPECT_EQ(counted_.ledger->live_regions, 0);
  }

 private:
  static constexpr int64_t kBudget = 40'000;

  struct Held {
    Buffer buffer;
    bool counted = true;
  };

  void TakeOne(int64_t size) {
    const PoolStats before = counted_.pool->stats();
    absl::StatusOr<Buffer> buffer = counted_.pool->Allocate(size);
    if (buffer.ok()) {
      EXPECT_EQ(buffer->size(), size);
      if (size > 0) held_.push_back({*std::move(buffer)});
    } else {
      EXPECT_GT(before.used_bytes + size + size / 8 + kAlignment, kBudget);
    }
  }

  base::Generator random_;
  CountedPool counted_{{.budget_bytes = kBudget}};
  std::vector<Held> held_;
  int64_t peak_ = 0;
};

TEST(PoolTest, RandomTrafficNeverExceedsTheBudget) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    for (int step = 0; step < 500; ++step) {
      traffic.Step();
      traffic.Check();
      if (HasFatalFailure()) return;
    }
    traffic.End();
  }
}

// Each thread fills its buffers with its own byte and looks whether it stays there.
void UseFromOneThread(Pool& pool, unsigned char mark) {
  base::Generator random(base::RandomKey(mark, 0, 0), base::Hash128{});
  std::vector<Buffer> held;
  for (int step = 0; step < 2000; ++step) {
    absl::StatusOr<Buffer> buffer = pool.Allocate(random.Integer(1, 2000));
    const bool full = !buffer.ok();
    if (!full) {
      std::memset(buffer->mutable_data(), mark, buffer->size());
      held.push_back(*std::move(buffer));
    }
    if (held.size() > 8 || full) {
      for (const Buffer& old : held) {
        for (const std::byte byte : old.As<std::byte>()) {
          ASSERT_EQ(byte, std::byte{mark});
        }
      }
      held.resize(held.size() / 2);
    }
    const PoolStats stats = pool.stats();
    ASSERT_LE(stats.used_bytes + stats.cached_bytes, 50'000);
  }
}

TEST(PoolTest, ThreadsShareAPoolAndItsBudget) {
  CountedPool counted({.budget_bytes = 50'000});
  {
    std::vector<std::jthread> threads;
    for (unsigned char mark = 1; mark <= 4; ++mark) {
      threads.emplace_back([&, mark] { UseFromOneThread(*counted.pool, mark); });
    }
  }
  EXPECT_EQ(counted.pool->stats().used_bytes, 0);
  EXPECT_GT(counted.pool->stats().reuses, 0);
  counted.pool.reset();
  EXPECT_EQ(counted.ledger->live_regions, 0);
}

TEST(PoolTest, ABufferLeavesTheBudgetOnceWhoeverSaysSo) {
  Pool pool(MakeHeapAllocator(), {});
  for (int round = 0; round < 200; ++round) {
    const Buffer held = pool.Allocate(64).value();
    const Buffer shared = pool.Allocate(1024).value();
    {
      std::vector<std::jthread> threads;
      threads.reserve(3);
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] { shared.storage()->LeaveBudget(); });
      }
    }
    ASSERT_EQ(pool.stats().used_bytes, 64);
  }
}

TEST(PoolTest, ABufferIsLetGoOnAnyThreadAlsoAfterThePool) {
  CountedPool counted;
  std::vector<Buffer> buffers;
  buffers.reserve(100);
  for (int i = 0; i < 100; ++i) buffers.push_back(counted.pool->Allocate(256).value());
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([mine = buffers]() mutable { mine.clear(); });
    }
    buffers.clear();
    counted.pool.reset();
  }
  EXPECT_EQ(counted.ledger->live_regions, 0);
}

}  // namespace
}  // namespace millrace::core
