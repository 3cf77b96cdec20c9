#include "millrace/delivery/credit.h"

#include <algorithm>
#include <cstdint>

namespace millrace::delivery {
namespace {

constexpr int64_t kUnseenMax = 4;
constexpr int64_t kParts = 8;  // One of them is free before there is room again.

}  // namespace

void Credit::Set(int64_t bytes) {
  bytes_ = bytes;
  Look();
}

void Credit::Ask(int64_t batches) {
  asked_batches_ += batches;
  Look();
}

void Credit::Receive(int64_t bytes) {
  held_bytes_ += bytes;
  seen_bytes_ += bytes;
  ++seen_batches_;
}

void Credit::Release(int64_t bytes) {
  held_bytes_ -= bytes;
  Look();
}

void Credit::Clear() {
  held_bytes_ = asked_batches_ = 0;
  Look();
}

bool Credit::HasRoom() const {
  const bool too_many = seen_batches_ == 0 && asked_batches_ >= kUnseenMax;
  return !too_many && !used_up_ && used() + each() <= bytes_;
}

void Credit::Look() {
  if (used() + each() > bytes_) used_up_ = true;
  if (used() <= bytes_ - bytes_ / kParts) used_up_ = false;
}

// Of a batch: what those were that came; until then, as was said.
int64_t Credit::each() const {
  if (seen_batches_ == 0) return batch_bytes_;
  return std::max<int64_t>(1, seen_bytes_ / seen_batches_);
}

}  // namespace millrace::delivery
