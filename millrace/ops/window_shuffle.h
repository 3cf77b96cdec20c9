// The order that a shuffle within a moving window gives: things go in one after the
// other, and each that comes when the window is full pushes a random one out. The same
// for rows as for references to them, so that a shuffle can come before reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {

// What a shuffle draws with in a lane.
inline base::Generator ShuffleGenerator(uint64_t seed, const LaneContext& lane) {
  return {base::RandomKey(seed, lane.epoch, static_cast<uint64_t>(lane.call_number)),
          lane.lane};
}

template <typename T>
class WindowShuffle {
 public:
  // Requires: window >= 1.
  WindowShuffle(int64_t window, const base::Generator& generator)
      : window_(window), generator_(generator) {}

  // Puts one in; what it pushes out goes behind `out`.
  void Push(const T& coming, std::vector<T>& out) {
    if (std::ssize(waiting_) < window_) {
      waiting_.push_back(coming);
      return;
    }
    const int64_t slot = generator_.Integer(0, window_);
    out.push_back(std::exchange(waiting_[slot], coming));
  }

  // There is no more to come: puts what waits in its order.
  void Finish() { generator_.Shuffle(std::span<T>(waiting_)); }

  // What is in the window.
  std::vector<T>& waiting() { return waiting_; }

 private:
  const int64_t window_;
  base::Generator generator_;
  std::vector<T> waiting_;
};

}  // namespace millrace::ops
