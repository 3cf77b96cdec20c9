#include "millrace/bench/service/raw_stream.h"

#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::bench {
namespace {

TEST(RawStreamTest, BytesMoveAndCostSomething) {
  const auto moved = MoveRaw({.message_bytes = 1 << 20, .messages = 400, .first = 2});
  ASSERT_THAT(moved, base::IsOk());
  EXPECT_GT(moved->bytes_per_second, 1e6);
  EXPECT_GT(moved->cpu_seconds_per_gigabyte, 0);
}

TEST(RawStreamTest, OneMessageIsEnough) {
  EXPECT_THAT(MoveRaw({.message_bytes = 1, .messages = 1, .first = 0}), base::IsOk());
}

}  // namespace
}  // namespace millrace::bench
