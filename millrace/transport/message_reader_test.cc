#include "millrace/transport/message_reader.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/message_writer.h"
#include "millrace/transport/payloads_test.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

using base::IsOk;
using base::StatusIs;
using base::literals::operator""_MiB;
using testing::HasSubstr;

// What a writer gives for these messages, taken in gathers of so many bytes, of which
// only a part is written each time.
std::string Written(MessageWriter& writer, int64_t gather) {
  std::string bytes;
  while (!writer.empty()) {
    int64_t left = std::max<int64_t>(1, gather * 2 / 3);
    int64_t written = 0;
    for (const iovec& piece : writer.Gather(gather)) {
      const auto size = std::min<int64_t>(static_cast<int64_t>(piece.iov_len), left);
      bytes.append(static_cast<const char*>(piece.iov_base), size);
      left -= size;
      written += size;
    }
    writer.Written(written);
  }
  return bytes;
}

std::string Written(std::vector<Message> messages, bool sums = true) {
  MessageWriter writer;
  writer.set_sums(sums);
  for (Message& message : messages) writer.Add(std::move(message));
  return Written(writer, int64_t{1} << 30);
}

// Puts bytes where the reader wants them, at most so many at a time.
absl::Status Feed(MessageReader& reader, std::string_view bytes, size_t step,
                  std::vector<Received>& received) {
  while (!bytes.empty()) {
    int64_t put = 0;
    for (const iovec& room : reader.Room()) {
      const size_t size = std::min({room.iov_len, bytes.size(), step - put});
      std::memcpy(room.iov_base, bytes.data(), size);
      bytes.remove_prefix(size);
      put += static_cast<int64_t>(size);
    }
    const absl::Status status = reader.Advance(
        put, [&](Received message) { received.push_back(std::move(message)); });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<Message> SampleMessages() {
  std::vector<Message> messages;
  messages.push_back({.head = R"({"credit":7})"});
  messages.push_back({.head = "a", .payload = RandomFrame(700'000, 1)});
  messages.push_back({.head = "", .payload = RandomFrame(64, 2)});
  messages.push_back({.head = std::string(100'000, 'x')});
  messages.push_back({.head = "", .payload = RandomFrame(10'000, 3)});
  messages.push_back({.head = "last"});
  return messages;
}

TEST(MessageReaderTest, GivesWhatWasWrittenHoweverItIsCut) {
  const std::vector<Message> messages = SampleMessages();
  for (const bool sums : {true, false}) {
    for (const int64_t gather : {1, 1000, 1 << 30}) {
      MessageWriter writer;
      writer.set_sums(sums);
      for (const Message& message : messages) {
        writer.AddPing();
        writer.Add(message);
      }
      const std::string bytes = Written(writer, gather);
      MessageReader reader(1_MiB, nullptr);
      std::vector<Received> received;
      ASSERT_THAT(Feed(reader, bytes, gather == 1 ? 7 : 3 * gather, received), IsOk());
      EXPECT_TRUE(reader.between_messages());
      ASSERT_EQ(received.size(), messages.size());
      for (size_t i = 0; i < messages.size(); ++i) {
        EXPECT_EQ(received[i].head, messages[i].head);
        EXPECT_EQ(received[i].payload.text(), BytesOf(messages[i].payload));
      }
    }
  }
}

TEST(MessageReaderTest, PayloadsGoWhereTheOwnerWants) {
  core::Buffer given;
  MessageReader reader(1_MiB, [&](std::string_view head, base::Bytes bytes) {
    EXPECT_EQ(head, "where");
    given = core::HeapPool().Allocate(bytes.count() + 64).value();
    return given;
  });
  const frames::Frame frame = RandomFrame(5000, 1);
  std::vector<Received> received;
  ASSERT_THAT(
      Feed(reader, Written({{.head = "where", .payload = frame}}), 1 << 20, received),
      IsOk());
  ASSERT_EQ(received.size(), 1);
  EXPECT_EQ(received[0].payload.data(), given.data());
  EXPECT_EQ(received[0].payload.text(), BytesOf(frame));
}

TEST(MessageReaderTest, AMessageTakesAboutOneRead) {
  std::vector<Message> messages;
  for (int i = 0; i < 20; ++i) {
    messages.push_back({.head = "{\"k\":1}", .payload = RandomFrame(65536, i)});
  }
  const std::string bytes = Written(std::move(messages));
  MessageReader reader(1_MiB, nullptr);
  size_t at = 0;
  int reads = 0;
  while (at < bytes.size()) {
    ++reads;
    int64_t put = 0;
    for (const iovec& room : reader.Room()) {
      const size_t size = std::min(room.iov_len, bytes.size() - at);
      std::memcpy(room.iov_base, bytes.data() + at, size);
      at += size;
      put += static_cast<int64_t>(size);
    }
    ASSERT_THAT(reader.Advance(put, [](const Received&) {}), IsOk());
  }
  EXPECT_LE(reads, 23);
}

TEST(MessageReaderTest, AChangedByteAnywhereIsNoticed) {
  const std::string good = Written({{.head = "head", .payload = RandomFrame(256, 1)}});
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    MessageReader reader(1_MiB, nullptr);
    std::vector<Received> received;
    EXPECT_THAT(Feed(reader, bytes, 1 << 20, received),
                StatusIs(absl::StatusCode::kDataLoss))
        << at;
    EXPECT_TRUE(received.empty());
  }
}

TEST(MessageReaderTest, WithoutChecksumOnlyThePayloadIsBelieved) {
  std::string bytes =
      Written({{.head = "head", .payload = RandomFrame(256, 1)}}, /*sums=*/false);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  MessageReader reader(1_MiB, nullptr);
  std::vector<Received> received;
  EXPECT_THAT(Feed(reader, bytes, 1 << 20, received), IsOk());
  EXPECT_EQ(received.size(), 1);
}

TEST(MessageReaderTest, LimitsComeBeforeMemory) {
  bool asked = false;
  MessageReader reader(base::Bytes(1000), [&](std::string_view, base::Bytes bytes) {
    asked = true;
    return core::HeapPool().Allocate(bytes.count());
  });
  std::vector<Received> received;
  EXPECT_THAT(Feed(reader, Written({{.head = "", .payload = RandomFrame(2000, 1)}}),
                   1 << 20, received),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("payload")));
  EXPECT_FALSE(asked);
}

TEST(MessageReaderTest, ARefusedAllocationIsTold) {
  MessageReader reader(1_MiB, [](std::string_view, base::Bytes) {
    return absl::StatusOr<core::Buffer>(absl::ResourceExhaustedError("no credits"));
  });
  std::vector<Received> received;
  EXPECT_THAT(Feed(reader, Written({{.head = "", .payload = RandomFrame(2000, 1)}}),
                   1 << 20, received),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no credits")));
}

TEST(MessageReaderTest, SaysHowFarAMessageCame) {
  const std::string bytes = Written({{.head = "head", .payload = RandomFrame(256, 1)}});
  MessageReader reader(1_MiB, nullptr);
  std::vector<Received> received;
  EXPECT_TRUE(reader.between_messages());
  ASSERT_THAT(Feed(reader, bytes.substr(0, 10), 10, received), IsOk());
  EXPECT_FALSE(reader.between_messages());
  EXPECT_THAT(reader.Progress(), HasSubstr("10 bytes of a message's prefix"));
  ASSERT_THAT(Feed(reader, bytes.substr(10, kPrefixBytes), 100, received), IsOk());
  EXPECT_THAT(reader.Progress(), HasSubstr("6 of 384 bytes of a payload"));
}

// --- Compressed ---

std::string Packed(const Message& message, PayloadCodec codec, bool sums = true) {
  MessageWriter writer;
  writer.set_sums(sums);
  writer.set_codec(codec);
  writer.Add(message);
  return Written(writer, int64_t{1} << 30);
}

TEST(MessageReaderTest, UnpacksWhatWasPackedHoweverItIsCut) {
  for (const PayloadCodec codec : {PayloadCodec::kLz4, PayloadCodec::kZstd}) {
    for (const int64_t gather : {1000, 300'000, 1 << 30}) {
      MessageWriter writer;
      writer.set_codec(codec);
      std::vector<Message> messages = SampleMessages();
      messages.push_back({.head = "words", .payload = WordyFrame(900'000)});
      messages.push_back({.head = "few", .payload = WordyFrame(100)});
      for (const Message& message : messages) writer.Add(message);
      EXPECT_EQ(writer.packed_messages(), 2);
      const std::string bytes = Written(writer, gather);
      EXPECT_LT(bytes.size(), 1'000'000) << "words are packed, noise is not";
      MessageReader reader(1_MiB, nullptr);
      std::vector<Received> received;
      ASSERT_THAT(Feed(reader, bytes, gather, received), IsOk());
      ASSERT_EQ(received.size(), messages.size());
      for (size_t i = 0; i < messages.size(); ++i) {
        EXPECT_TRUE(received[i].payload.text() == BytesOf(messages[i].payload)) << i;
      }
      EXPECT_TRUE(reader.between_messages());
    }
  }
}

TEST(MessageReaderTest, DamageInChunksIsFound) {
  for (const PayloadCodec codec : {PayloadCodec::kLz4, PayloadCodec::kZstd}) {
    const std::string bytes =
        Packed({.head = "", .payload = WordyFrame(400'000)}, codec);
    for (size_t i = kPrefixBytes; i < bytes.size(); i += 13) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x11);
      MessageReader reader(1_MiB, nullptr);
      std::vector<Received> received;
      const absl::Status status = Feed(reader, damaged, 1 << 20, received);
      // A chunk that is said to be longer may still be waited for.
      EXPECT_TRUE(absl::IsDataLoss(status) || !reader.between_messages()) << i;
      EXPECT_TRUE(received.empty()) << i;
    }
  }
}

// A chunk never has more bytes than it holds, and some.
TEST(MessageReaderTest, AbsurdChunksAreRefusedBeforeTheyCome) {
  const std::string bytes =
      Packed({.head = "", .payload = WordyFrame(400'000)}, PayloadCodec::kLz4);
  for (const std::string_view head :
       {std::string_view("\0\0\0\0", 4), std::string_view("\1\0\4\0", 4),
        std::string_view("\xff\xff\xff\xff", 4)}) {
    std::string absurd = bytes.substr(0, kPrefixBytes);
    absurd += head;
    MessageReader reader(1_MiB, nullptr);
    std::vector<Received> received;
    EXPECT_THAT(Feed(reader, absurd, 1 << 20, received),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cannot hold")));
  }
}

TEST(MessageReaderTest, TheLimitIsThatOfWhatIsUnpacked) {
  const std::string bytes =
      Packed({.head = "", .payload = WordyFrame(2'000'000)}, PayloadCodec::kZstd);
  EXPECT_LT(bytes.size(), 100'000);
  MessageReader reader(1_MiB, nullptr);
  std::vector<Received> received;
  EXPECT_THAT(Feed(reader, bytes, 1 << 20, received),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace millrace::transport
