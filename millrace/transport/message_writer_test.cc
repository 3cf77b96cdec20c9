#include "millrace/transport/message_writer.h"

#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "gtest/gtest.h"

#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/payloads_test.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

int64_t Sum(absl::Span<const iovec> pieces) {
  int64_t bytes = 0;
  for (const iovec& piece : pieces) bytes += static_cast<int64_t>(piece.iov_len);
  return bytes;
}

TEST(MessageWriterTest, GathersSeveralMessagesAtOnce) {
  MessageWriter writer;
  writer.set_sums(false);
  const frames::Frame frame = RandomFrame(1000, 1);
  writer.Add({.head = "one", .payload = frame});
  writer.Add({.head = "three"});
  EXPECT_EQ(Sum(writer.Gather(1 << 20)), 2 * kPrefixBytes + 8 + frame.bytes());
  EXPECT_EQ(Sum(writer.Gather(100)), 100);
}

TEST(MessageWriterTest, CopiesNoPayload) {
  MessageWriter writer;
  const frames::Frame frame = RandomFrame(1000, 1);
  writer.Add({.head = "one", .payload = frame});
  bool found = false;
  (void)frame.ForEachPiece([&](std::string_view piece) {
    for (const iovec& gathered : writer.Gather(1 << 20)) {
      found = found || gathered.iov_base == piece.data();
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(found);
}

TEST(MessageWriterTest, CountsMessagesThatAreWholly) {
  MessageWriter writer;
  const Message message = {.head = "four", .payload = RandomFrame(1000, 1)};
  const int64_t bytes = MessageWriter::BytesOf(message);
  EXPECT_EQ(bytes, 4 + message.payload.bytes());
  writer.Add(message);
  writer.AddPing();
  const int64_t whole = kPrefixBytes + bytes + kPayloadSumBytes;
  EXPECT_EQ(Sum(writer.Gather(1 << 20)), whole + kPrefixBytes);
  EXPECT_EQ(writer.Written(whole - 1), 0);
  EXPECT_EQ(Sum(writer.Gather(1 << 20)), 1 + kPrefixBytes);
  EXPECT_EQ(writer.Written(1), bytes);
  EXPECT_FALSE(writer.empty());
  EXPECT_EQ(writer.Written(kPrefixBytes), 0);
  EXPECT_TRUE(writer.empty());
}

TEST(MessageWriterTest, GathersNoMorePiecesThanTheKernelTakes) {
  MessageWriter writer;
  for (int i = 0; i < 2000; ++i) writer.Add({.head = "x"});
  EXPECT_LE(writer.Gather(1 << 30).size(), 1024);
}

}  // namespace
}  // namespace millrace::transport
