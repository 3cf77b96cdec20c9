#include "millrace/transport/chunks.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/codec/crc32c.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/payloads_test.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;

constexpr auto kLz4 = PayloadCodec::kLz4;
constexpr auto kZstd = PayloadCodec::kZstd;

// What chunks hold, one behind the other.
std::string Unpacked(const std::vector<std::string>& chunks, int64_t bytes,
                     PayloadCodec codec) {
  Packers packers;
  std::string content(static_cast<size_t>(bytes), '\0');
  int64_t read = 0;
  for (const std::string& chunk : chunks) {
    const int64_t size = std::min(kChunkBytes, bytes - read);
    const std::string_view all = chunk;
    EXPECT_THAT(ReadChunkHead(all.substr(0, kChunkHeadBytes), size),
                IsOkAndHolds(std::ssize(chunk) - kChunkHeadBytes));
    EXPECT_THAT(
        ReadChunk(all.substr(kChunkHeadBytes), packers.Of(codec),
                  absl::MakeSpan(reinterpret_cast<std::byte*>(content.data()) + read,
                                 static_cast<size_t>(size))),
        IsOk());
    read += size;
  }
  EXPECT_EQ(read, bytes);
  return content;
}

TEST(ChunksTest, HoldThePayloadWhereverItsPiecesEnd) {
  for (const PayloadCodec codec : {kLz4, kZstd}) {
    for (const int64_t bytes : {100, 262'080, 262'144, 600'000, 1'572'800}) {
      const frames::Frame frame =
          bytes % 3 == 0 ? RandomFrame(bytes, 1) : WordyFrame(bytes);
      Packers packers;
      Chunker chunker(frame, codec);
      std::vector<std::string> chunks;
      while (!chunker.done()) chunks.push_back(chunker.Next(packers.Of(codec)));
      EXPECT_EQ(std::ssize(chunks), (frame.bytes() + kChunkBytes - 1) / kChunkBytes);
      EXPECT_TRUE(Unpacked(chunks, frame.bytes(), codec) == BytesOf(frame)) << bytes;
      EXPECT_EQ(chunker.crc(), codec::Crc32c(BytesOf(frame)));
    }
  }
}

TEST(ChunksTest, WhatWouldNotGetSmallerIsSentAsItIs) {
  Packers packers;
  const frames::Frame frame = RandomFrame(100'000, 1);
  Chunker chunker(frame, kLz4);
  const std::string chunk = chunker.Next(packers.Of(kLz4));
  EXPECT_EQ(chunk.substr(kChunkHeadBytes), BytesOf(frame));
}

TEST(ChunksTest, ASampleTellsWhatPackingGains) {
  Packers packers;
  const PackedSample words = PackSample(WordyFrame(3'000'000), kZstd, packers);
  EXPECT_EQ(words.bytes, kChunkBytes);
  EXPECT_LT(words.packed_bytes, words.bytes / 10);
  const PackedSample noise = PackSample(RandomFrame(3'000'000, 1), kZstd, packers);
  EXPECT_EQ(noise.packed_bytes, noise.bytes);
  EXPECT_GT(PackSample(WordyFrame(300), kLz4, packers).bytes, 0);
}

TEST(ChunksTest, AbsurdHeadsAreRefused) {
  for (const std::string_view head :
       {std::string_view("\0\0\0\0", 4), std::string_view("\x65\0\0\0", 4)}) {
    EXPECT_THAT(ReadChunkHead(head, 100), StatusIs(StatusCode::kDataLoss));
  }
  EXPECT_THAT(ReadChunkHead(std::string_view("\x64\0\0\0", 4), 100), IsOkAndHolds(100));
}

TEST(ChunksTest, CodecsHaveNames) {
  for (const PayloadCodec codec : {PayloadCodec::kNone, kLz4, kZstd}) {
    EXPECT_EQ(CodecOfName(NameOf(codec)), codec);
  }
  EXPECT_EQ(CodecOfName("gzip"), std::nullopt);
}

}  // namespace
}  // namespace millrace::transport
