// A reader's credit: bytes that may wait at it, asked for or received. What it asks of
// workers stays within it, but for the batch that it needs next (protocol.md section
// 2).
#pragma once

#include <cstdint>

namespace millrace::delivery {

// Once it is used up there is room again when a part of it is free, so that small
// batches are asked for many in one message.
class Credit {
 public:
  // Batches count with `batch_bytes` until some were seen.
  Credit(int64_t bytes, int64_t batch_bytes)
      : bytes_(bytes), batch_bytes_(batch_bytes) {}

  void Set(int64_t bytes);
  void Ask(int64_t batches);
  void Receive(int64_t bytes);
  void Release(int64_t bytes);

  // Nothing waits any more.
  void Clear();

  int64_t asked_batches() const { return asked_batches_; }

  int64_t used() const { return asked_batches_ * each() + held_bytes_; }

  // Of batches whose size nobody knows yet few are asked for: what was asked for comes.
  bool HasRoom() const;

 private:
  int64_t each() const;
  void Look();

  int64_t bytes_;
  int64_t batch_bytes_;
  int64_t asked_batches_ = 0;  // Not received yet.
  int64_t held_bytes_ = 0;     // Received, not taken.
  int64_t seen_batches_ = 0;
  int64_t seen_bytes_ = 0;
  bool used_up_ = false;
};

}  // namespace millrace::delivery
