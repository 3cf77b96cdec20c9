#include "millrace/codec/decompress.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/codec/compress_test.h"

namespace millrace::codec {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

// Text and noise, so that there is something to find and something that is not.
std::string Content(size_t size) {
  std::string content(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    content[i] = static_cast<char>(i % 97 < 60 ? 'a' + i % 7 : base::Mix64(i));
  }
  return content;
}

struct Sizes {
  size_t piece = 1 << 20;
  size_t room = 1 << 16;
};

// Decompresses all of it, in pieces, into room for a few bytes at a time.
absl::StatusOr<std::string> Unfold(Compression compression, std::string_view bytes,
                                   const Sizes& sizes = {},
                                   const DecompressOptions& options = {}) {
  const std::unique_ptr<Decompressor> unfold = MakeDecompressor(compression, options);
  std::string content;
  std::vector<std::byte> room(sizes.room);
  size_t offered = std::min(sizes.piece, bytes.size());
  while (true) {
    const Progress done =
        TRY(unfold->Run(bytes.substr(0, offered), absl::MakeSpan(room)));
    content.append(reinterpret_cast<const char*>(room.data()), done.given);
    bytes.remove_prefix(done.taken);
    if (done.given == std::ssize(room)) {
      offered -= done.taken;
      continue;
    }
    if (bytes.empty()) break;
    offered = std::min(offered - done.taken + sizes.piece, bytes.size());
  }
  TRY(unfold->Finish());
  return content;
}

class DecompressTest : public testing::TestWithParam<Compression> {
 protected:
  static std::string Fold(std::string_view content) {
    switch (GetParam()) {
      case Compression::kZstd:
        return Zstandard(content);
      case Compression::kLz4:
        return Lz4Framed(content);
      case Compression::kSnappy:
        return SnappyFramed(content);
      default:
        return Gzipped(content);
    }
  }
};

TEST_P(DecompressTest, GivesBackWhatWasCompressedHoweverItIsCutUp) {
  const std::string content = Content(5000);
  const std::string bytes = Fold(content);
  for (const size_t piece : {1, 2, 7, 100, 100'000}) {
    for (const size_t room : {1, 3, 64, 4999, 5000, 5001}) {
      EXPECT_THAT(Unfold(GetParam(), bytes, {piece, room}), IsOkAndHolds(content))
          << piece << " " << room;
    }
  }
}

TEST_P(DecompressTest, JoinsWhatWasCompressedOneAfterAnother) {
  const std::string bytes = Fold("one, ") + Fold("") + Fold("two, ") + Fold("three");
  for (const size_t piece : {1, 10, 1000}) {
    EXPECT_THAT(Unfold(GetParam(), bytes, {piece, 4}), IsOkAndHolds("one, two, three"));
  }
}

TEST_P(DecompressTest, KnowsWhereverItWasCutOff) {
  const std::string content = Content(300);
  const std::string bytes = Fold(content);
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (GetParam() == Compression::kSnappy && size == 10) continue;  // Between chunks.
    EXPECT_THAT(Unfold(GetParam(), bytes.substr(0, size)),
                StatusIs(kDataLoss, HasSubstr("ends too early, at byte")))
        << size;
  }
}

TEST_P(DecompressTest, NeverGivesOtherContentForChangedBytes) {
  const std::string content = Content(400);
  const std::string bytes = Fold(content);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    // It makes of snappy's chunk one that readers pass over.
    if (GetParam() == Compression::kSnappy && bit == 87) continue;
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const absl::StatusOr<std::string> unfolded = Unfold(GetParam(), changed);
    if (unfolded.ok()) {
      EXPECT_EQ(*unfolded, content) << bit;  // A time of day, a flag without effect.
    } else {
      EXPECT_THAT(unfolded, StatusIs(kDataLoss, HasSubstr("byte"))) << bit;
    }
  }
}

TEST_P(DecompressTest, RefusesWhatIsNotItsFormat) {
  EXPECT_THAT(Unfold(GetParam(), "this is plain text, not compressed at all"),
              StatusIs(kDataLoss, HasSubstr("corrupt near byte")));
  EXPECT_THAT(Unfold(GetParam(), Fold("good") + "and then something else follows"),
              StatusIs(kDataLoss));
}

TEST_P(DecompressTest, UnfoldsNoMoreThanThereIsRoomFor) {
  const std::string bomb = Fold(std::string(64 << 20, '\0'));
  ASSERT_LT(bomb.size(), 1U << 22);
  const std::unique_ptr<Decompressor> unfold = MakeDecompressor(GetParam());
  std::vector<std::byte> room(1000);
  const Progress done = *unfold->Run(bomb, absl::MakeSpan(room));
  EXPECT_EQ(done.given, 1000);
}

TEST_P(DecompressTest, StopsAtALimitAndStaysStopped) {
  const std::string bomb = Fold(std::string(1 << 20, '\0'));
  EXPECT_THAT(Unfold(GetParam(), bomb, {}, {.content_bytes_max = 1 << 20}), IsOk());
  EXPECT_THAT(Unfold(GetParam(), bomb, {}, {.content_bytes_max = (1 << 20) - 1}),
              StatusIs(kDataLoss, HasSubstr("more than allowed")));
  const std::unique_ptr<Decompressor> unfold =
      MakeDecompressor(GetParam(), {.content_bytes_max = 10});
  std::vector<std::byte> room(100);
  const absl::Status first = unfold->Run(bomb, absl::MakeSpan(room)).status();
  EXPECT_THAT(first, StatusIs(kDataLoss));
  EXPECT_EQ(unfold->Run(bomb, absl::MakeSpan(room)).status(), first);
  EXPECT_EQ(unfold->Finish(), first);
}

TEST_P(DecompressTest, TellsItsFormatByItsFirstBytes) {
  EXPECT_EQ(CompressionOfContent(Fold("content")), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, DecompressTest,
                         testing::Values(Compression::kGzip, Compression::kZstd,
                                         Compression::kLz4, Compression::kSnappy));

TEST_F(DecompressTest, AZstdFrameOfAnotherSizeThanItSaysIsCorrupt) {
  using std::string_literals::operator""s;
  // One that says 100 bytes and has none, or 5, with an empty block at its end.
  const std::string head = "\x28\xb5\x2f\xfd\x20\x64"s;
  const std::string end = "\x01\x00\x00"s;
  for (const std::string& blocks : {""s, "\x28\x00\x00hello"s}) {
    for (const size_t piece : {1, 3, 1000}) {
      for (const size_t room : {1, 3, 1000}) {
        EXPECT_THAT(Unfold(Compression::kZstd, head + blocks + end, {piece, room}),
                    StatusIs(kDataLoss, HasSubstr("corrupt near byte")));
      }
    }
  }
  const std::string right = "\x28\xb5\x2f\xfd\x20\x05\x28\x00\x00hello"s + end;
  EXPECT_THAT(Unfold(Compression::kZstd, right + right, {.piece = 1}),
              IsOkAndHolds("hellohello"));
}

TEST_F(DecompressTest, SnappyPassesOverChunksThatMeanNothing) {
  const std::string padding = SnappyChunk(0xfe, std::string(100'000, 'p'));
  const std::string bytes =
      SnappyFramed("one, ") + padding + SnappyChunk(0x80, "") + SnappyFramed("two");
  for (const size_t piece : {1, 1000, 1'000'000}) {
    EXPECT_THAT(Unfold(Compression::kSnappy, bytes, {.piece = piece}),
                IsOkAndHolds("one, two"));
  }
  const std::string start = SnappyChunk(0xff, "sNaPpY");
  for (const std::string& wrong :
       {SnappyChunk(0x02, "abcdef"), SnappyChunk(0x00, "abc"),
        SnappyChunk(0x00, "abcd"), SnappyChunk(0x01, "abcdef"),
        SnappyChunk(0xff, "sNaPpy"), SnappyChunk(0x00, "abcd\xff\xff\xff\xff\x0f"),
        SnappyChunk(0x01, std::string(70'000, 'x'))}) {
    EXPECT_THAT(Unfold(Compression::kSnappy, start + wrong), StatusIs(kDataLoss));
  }
}

TEST_F(DecompressTest, SnappySaysWhatIsWrongAndWhere) {
  using std::string_literals::operator""s;
  const std::string start = SnappyChunk(0xff, "sNaPpY");
  const std::string sum = "\0\0\0\0"s;
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {SnappyChunk(0x01, "sumsx"), "it does not begin as such"},
      {SnappyChunk(0xff, "sNaPp"), "a beginning of another length"},
      {start + SnappyChunk(0x02, ""), "a chunk of unknown kind"},
      {start + SnappyChunk(0x01, "abc"), "a chunk of absurd length"},
      {start + SnappyChunk(0x01, sum + "content"), "content does not fit its checksum"},
      {start + SnappyChunk(0x00, sum + "\x80\x80\x08"s), "a chunk of too much content"},
      {start + SnappyChunk(0x00, sum + "\x05"s), "a chunk that cannot be unfolded"},
  };
  for (const auto& [bytes, why] : wrong) {
    for (const size_t piece : {1, 1000}) {
      EXPECT_THAT(
          Unfold(Compression::kSnappy, bytes, {.piece = piece}),
          StatusIs(kDataLoss, AllOf(HasSubstr("corrupt near byte"), HasSubstr(why))));
    }
  }
}

TEST_F(DecompressTest, ManyEmptyFramesAreNoContent) {
  for (const auto& [compression, frame] :
       std::vector<std::pair<Compression, std::string>>{
           {Compression::kGzip, Gzipped("")},
           {Compression::kZstd, Zstandard("")},
           {Compression::kLz4, Lz4Framed("")},
           {Compression::kSnappy, SnappyFramed("")}}) {
    std::string bytes;
    for (int i = 0; i < 1000; ++i) bytes += frame;
    EXPECT_THAT(Unfold(compression, bytes, {.piece = 7, .room = 3}), IsOkAndHolds(""));
  }
}

TEST_F(DecompressTest, GzipMayBeFilledUpWithZeros) {
  const std::string bytes = Gzipped("content") + std::string(100, '\0');
  EXPECT_THAT(Unfold(Compression::kGzip, bytes, {.piece = 9}), IsOkAndHolds("content"));
  EXPECT_THAT(Unfold(Compression::kGzip, bytes + Gzipped("!")),
              IsOkAndHolds("content!"));
  EXPECT_THAT(Unfold(Compression::kGzip, std::string(100, '\0')), StatusIs(kDataLoss));
}

TEST_F(DecompressTest, TellsCompressionByTheName) {
  EXPECT_EQ(CompressionOfName("a/b.tfrecord.gz"), Compression::kGzip);
  EXPECT_EQ(CompressionOfName("b.TGZ"), Compression::kGzip);
  EXPECT_EQ(CompressionOfName("a.tar.zst"), Compression::kZstd);
  EXPECT_EQ(CompressionOfName("a.tzst"), Compression::kZstd);
  EXPECT_EQ(CompressionOfName("a.txt.lz4"), Compression::kLz4);
  EXPECT_EQ(CompressionOfName("a.jsonl.SZ"), Compression::kSnappy);
  EXPECT_EQ(CompressionOfName("a.gz/b.tar"), Compression::kNone);
  EXPECT_EQ(CompressionOfName("gz"), Compression::kNone);
  EXPECT_EQ(CompressionOfName(""), Compression::kNone);
}

TEST_F(DecompressTest, TellsPlainContentFromCompressed) {
  EXPECT_EQ(CompressionOfContent(""), Compression::kNone);
  EXPECT_EQ(CompressionOfContent("\x1f"), Compression::kNone);
  EXPECT_EQ(CompressionOfContent("text"), Compression::kNone);
  EXPECT_EQ(CompressionOfContent("\x5f\x2a\x4d\x18 rest"), Compression::kZstd);
}

}  // namespace
}  // namespace millrace::codec
