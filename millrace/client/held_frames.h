// Frames that were received and whose rows were not all taken yet, and how those came
// here that were. Who uses it holds its own lock.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "millrace/base/check.h"
#include "millrace/client/job_pass.h"
#include "millrace/core/buffer.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"

namespace millrace::client {

class HeldFrames {
 public:
  void Hold(delivery::Token token, ReceivedFrame frame) {
    frames_.insert_or_assign(token, std::move(frame));
  }

  // Gives rows of a frame; with the last of them the frame is taken.
  ReceivedPart Take(const delivery::BatchPart& part) {
    const auto found = frames_.find(part.token);
    CHECK(found != frames_.end());
    ReceivedPart taken{found->second, part};
    if (!part.last_use) return taken;
    Count(taken.frame);
    frames_.erase(found);
    return taken;
  }

  // Lets go of a frame that nobody takes.
  void Drop(delivery::Token token) { frames_.erase(token); }

  // Bytes of frames that were taken, in memory that was lent; and of others.
  int64_t shared_bytes() const { return shared_bytes_; }

  int64_t copied_bytes() const { return copied_bytes_; }

 private:
  void Count(const ReceivedFrame& taken) {
    shared_bytes_ += taken.shared_bytes;
    copied_bytes_ += taken.frame.size() - taken.shared_bytes;
    for (const core::Buffer& part : taken.parts) copied_bytes_ += part.size();
  }

  std::map<delivery::Token, ReceivedFrame> frames_;
  int64_t shared_bytes_ = 0;
  int64_t copied_bytes_ = 0;
};

}  // namespace millrace::client
