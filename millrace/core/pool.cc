#include "millrace/core/pool.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"

namespace millrace::core {
namespace {

constexpr int64_t kSizeMax = int64_t{1} << 46;
// Of regions from this size on a somewhat larger one may serve: new pages cost more.
constexpr int64_t kLarge = int64_t{1} << 20;

int64_t RoundUp(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Rounds up to one of eight steps per power of two, so that buffers of about the same
// size share pages and at most an eighth of a large one is unused.
int64_t SizeClass(int64_t size) {
  if (size <= kAlignment * 8) return RoundUp(size, kAlignment);
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size)));
  return RoundUp(size, power / 8);
}

// Numbers threads as they come by.
int ThisThread() {
  static std::atomic<int> next = 0;
  thread_local const int number = next++;
  return number;
}

// Memory that nobody uses, and the thread that did last: that one has it in its caches.
struct Kept {
  Region region;
  int thread = 0;
};

}  // namespace

// Lives as long as the pool or any buffer from it.
class Pool::State {
 public:
  State(std::unique_ptr<Allocator> allocator, const PoolOptions& options)
      : allocator_(std::move(allocator)), options_(options) {}

  ~State() { Trim(); }

  absl::StatusOr<Region> Take(int64_t size) {
    size = RoundUp(SizeClass(size), allocator_->granularity());
    const base::MutexLock lock(&mutex_);
    if (size > options_.budget_bytes - stats_.used_bytes) return Full(size);
    std::optional<Region> region = Reuse(size);
    if (!region) {
      MakeRoom(size);
      region = TRY(allocator_->Allocate(size));
      CHECK_EQ(region->size, size);
      ++stats_.allocations;
    }
    CountUsed(region->size);
    NotePeak();
    return *region;
  }

  // `given`: its thread is the one that took it, and probably filled it.
  void GiveBack(const Kept& given, bool counted, bool retired) {
    const Region& region = given.region;
    const base::MutexLock lock(&mutex_);
    if (counted) CountUsed(-region.size);
    const int64_t held = stats_.used_bytes + stats_.cached_bytes;
    if (closed_ || retired || region.size > options_.budget_bytes - held) {
      allocator_->Free(region);
      return;
    }
    cached_[region.size].push_back(given);
    stats_.cached_bytes += region.size;
    NotePeak();
  }

  void Uncount(const Region& region) {
    const base::MutexLock lock(&mutex_);
    CountUsed(-region.size);
  }

  void Trim() {
    const base::MutexLock lock(&mutex_);
    DropCached(stats_.cached_bytes);
  }

  // From now on nothing is kept for reuse: the pool is gone, its buffers may not be.
  void Close() {
    const base::MutexLock lock(&mutex_);
    closed_ = true;
    DropCached(stats_.cached_bytes);
  }

  PoolStats stats() const {
    const base::MutexLock lock(&mutex_);
    return stats_;
  }

  int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  using Cached = std::map<int64_t, std::vector<Kept>>;  // By size.

  absl::Status Full(int64_t size) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return absl::ResourceExhaustedError(
        base::StrCat("memory budget is full: ", size, " bytes wanted, ",
                     stats_.used_bytes, " of ", options_.budget_bytes, " in use"));
  }

  void CountUsed(int64_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    stats_.used_bytes += more;
    CHECK_GE(stats_.used_bytes, 0);
    used_bytes_.store(stats_.used_bytes, std::memory_order_relaxed);
  }

  void NotePeak() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int64_t held = stats_.used_bytes + stats_.cached_bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, held);
  }

  // A region of this size, if one is kept.
  std::optional<Region> Reuse(int64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = FindKept(size);
    if (found == cached_.end()) return std::nullopt;
    std::vector<Kept>& kept = found->second;
    // The latest is the warmest, and one's own warmer still.
    constexpr size_t kLookedAt = 32;
    const size_t looked_at = std::min(kept.size(), kLookedAt);
    const auto own = std::find_if(
        kept.rbegin(), kept.rbegin() + static_cast<int64_t>(looked_at),
        [thread = ThisThread()](const Kept& k) { return k.thread == thread; });
    const bool has_own = own != kept.rbegin() + static_cast<int64_t>(looked_at);
    if (has_own) std::iter_swap(own, kept.rbegin());
    const Region region = kept.back().region;
    kept.pop_back();
    stats_.cached_bytes -= region.size;
    ++stats_.reuses;
    return region;
  }

  // Where regions of this size are kept, or large ones of up to half as much again:
  // where sizes vary, as of padded batches, each would have new pages else.
  Cached::iterator FindKept(int64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int64_t most = size < kLarge ? size : size + size / 2;
    auto found = cached_.lower_bound(size);
    while (found != cached_.end() && found->second.empty()) ++found;
    const bool serves = found != cached_.end() && found->first <= most;
    return serves ? found : cached_.end();
  }

  void MakeRoom(int64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int64_t room = options_.budget_bytes - stats_.used_bytes - size;
    if (stats_.cached_bytes > room) DropCached(stats_.cached_bytes - room);
  }

  // Frees at least `bytes` of what is kept, the largest first.
  void DropCached(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (bytes > 0 && !cached_.empty()) {
      const auto largest = std::prev(cached_.end());
      if (largest->second.empty()) {
        cached_.erase(largest);
        continue;
      }
      const Region region = largest->second.back().region;
      largest->second.pop_back();
      stats_.cached_bytes -= region.size;
      bytes -= region.size;
      allocator_->Free(region);
    }
  }

  const std::unique_ptr<Allocator> allocator_;
  const PoolOptions options_;
  mutable base::Mutex mutex_;
  Cached cached_ ABSL_GUARDED_BY(mutex_);
  PoolStats stats_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int64_t> used_bytes_ = 0;  // As in stats_, to be read without the lock.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

class Pool::PooledStorage final : public Storage {
 public:
  PooledStorage(Region region, std::shared_ptr<State> state)
      : Storage(region), state_(std::move(state)) {}

  PooledStorage(const PooledStorage&) = delete;
  PooledStorage& operator=(const PooledStorage&) = delete;

  ~PooledStorage() override {
    state_->GiveBack({region(), thread_}, counted_, retired_);
  }

  bool pooled() const override { return true; }

  void Retire() override { retired_ = true; }

  void LeaveBudget() override {
    if (counted_.exchange(false)) state_->Uncount(region());
  }

 private:
  const std::shared_ptr<State> state_;
  const int thread_ = ThisThread();
  std::atomic<bool> counted_ = true;
  std::atomic<bool> retired_ = false;
};

Pool::Pool(std::unique_ptr<Allocator> allocator, const PoolOptions& options)
    : state_(std::make_shared<State>(std::move(allocator), options)) {}

Pool::~Pool() { state_->Close(); }

absl::StatusOr<Buffer> Pool::Allocate(int64_t size) {
  CHECK_GE(size, 0);
  if (size == 0) return Buffer();
  if (size > kSizeMax) {
    return absl::ResourceExhaustedError(
        base::StrCat("buffer is absurdly large: ", size, " bytes"));
  }
  const Region region = TRY(state_->Take(size));
  return Buffer(std::make_shared<PooledStorage>(region, state_), size);
}

void Pool::Trim() { state_->Trim(); }

PoolStats Pool::stats() const { return state_->stats(); }

int64_t Pool::used_bytes() const { return state_->used_bytes(); }

Pool& HeapPool() {
  static Pool& pool = *new Pool(MakeHeapAllocator(), {});  // Never destroyed.
  return pool;
}

}  // namespace millrace::core
