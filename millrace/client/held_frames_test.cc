#include "millrace/client/held_frames.h"

#include <cstdint>

#include "gtest/gtest.h"

#include "millrace/client/job_pass.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::client {
namespace {

constexpr auto kShared = delivery::Token{1};
constexpr auto kStreamed = delivery::Token{2};
constexpr auto kDropped = delivery::Token{3};

core::Buffer BufferOf(int64_t bytes) { return *core::HeapPool().Allocate(bytes); }

// What came ahead, and what nobody takes, is not counted.
TEST(HeldFramesTest, CountHowWhatWasTakenCame) {
  HeldFrames held;
  held.Hold(kShared, {BufferOf(64), {BufferOf(128), BufferOf(4096)}, 4096});
  held.Hold(kStreamed, {BufferOf(1000)});
  held.Hold(kDropped, {BufferOf(5000)});
  held.Drop(kDropped);
  EXPECT_EQ(held.Take({.token = kShared, .rows = 1}).frame.parts.size(), 2U);
  EXPECT_EQ(held.shared_bytes(), 0) << "rows of it are left";
  held.Take({.token = kShared, .skip = 1, .rows = 1, .last_use = true});
  EXPECT_EQ(held.shared_bytes(), 4096);
  EXPECT_EQ(held.copied_bytes(), 64 + 128);
  EXPECT_EQ(held.Take({.token = kStreamed, .last_use = true}).frame.frame.size(), 1000);
  EXPECT_EQ(held.shared_bytes(), 4096);
  EXPECT_EQ(held.copied_bytes(), 64 + 128 + 1000);
}

TEST(HeldFramesTest, AFrameIsTakenOnce) {
  HeldFrames held;
  held.Hold(kStreamed, {BufferOf(8)});
  held.Take({.token = kStreamed, .last_use = true});
  EXPECT_DEATH(held.Take({.token = kStreamed}), "frames_");
}

}  // namespace
}  // namespace millrace::client
