// How much is made ahead of who consumes it. Little at first: more only costs memory
// while the consumer is the slower one. Each time the consumer found nothing although
// there had been enough before, twice as much is enough from then on: so it comes to
// what evens out the unevenness there is. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace::exec {

// What is ready for the consumer.
struct ReadyAmount {
  int64_t blocks = 0;
  int64_t bytes = 0;
};

class AheadLimit {
 public:
  bool IsEnough(const ReadyAmount& ready) const {
    return ready.blocks >= blocks_ && ready.bytes >= kBytesLeast;
  }

  // The consumer came, and found so much.
  void Found(const ReadyAmount& ready) {
    if (IsEnough(ready)) was_enough_ = true;
    if (ready.blocks > 0 || !was_enough_) return;
    blocks_ = std::min(2 * blocks_, kBlocksMax);
    was_enough_ = false;
  }

 private:
  static constexpr int64_t kBlocksMax = int64_t{1} << 20;
  // Of less there is always more: small blocks are cheap, and soon used up.
  static constexpr int64_t kBytesLeast = int64_t{4} << 20;

  int64_t blocks_ = 2;
  bool was_enough_ = false;
};

}  // namespace millrace::exec
