#include "millrace/ops/source/frame_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/storage/frame_run.h"
#include "millrace/storage/frames_test.h"

namespace millrace::ops {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Frames of rows 0, 1, 2, ..., as a disk has them.
struct Disk {
  explicit Disk(const std::vector<int64_t>& rows_of_frames) {
    int64_t first = 0;
    for (const int64_t rows : rows_of_frames) {
      std::string bytes;
      CHECK(frames::Encode(storage::NumbersBlock(rows, first), core::HeapPool())
                .value()
                .ForEachPiece([&](std::string_view piece) {
                  bytes += piece;
                  return absl::OkStatus();
                })
                .ok());
      table.push_back({.bytes = std::ssize(bytes), .rows = rows});
      frames.push_back(bytes);
      first += rows;
    }
  }

  std::vector<frames::FrameSize> table;
  std::vector<std::string> frames;
  int64_t at_hand = std::numeric_limits<int64_t>::max();  // Bytes of each, at most.
  absl::Status fails;                                     // What reading ends with.
  std::vector<int64_t> read;                              // Frames, in order.
};

class DiskRun final : public storage::FrameRun {
 public:
  explicit DiskRun(Disk& disk) : disk_(disk) {}

  absl::Span<const frames::FrameSize> frames() const override { return disk_.table; }

  absl::Status Read(int64_t frame, absl::Span<std::byte> room) const override {
    TRY(disk_.fails);
    CHECK_EQ(room.size(), disk_.frames[frame].size());
    std::memcpy(room.data(), disk_.frames[frame].data(), room.size());
    disk_.read.push_back(frame);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ReadNow(int64_t frame,
                                  absl::Span<std::byte> room) const override {
    TRY(disk_.fails);
    const int64_t size = std::min(disk_.at_hand, std::ssize(room));
    std::memcpy(room.data(), disk_.frames[frame].data(), size);
    return size;
  }

  std::string name() const override { return "the disk"; }

 private:
  Disk& disk_;
};

FrameReader ReaderOf(Disk& disk, int64_t begin, int64_t end, bool waits = true) {
  return FrameReader(
      {.open = [&disk]() -> absl::StatusOr<std::unique_ptr<storage::FrameRun>> {
         return std::make_unique<DiskRun>(disk);
       },
       .waits = waits},
      {.split = 0, .begin = begin, .end = end}, core::HeapPool());
}

// The rows of a block, each its number.
std::vector<int64_t> NumbersOf(const core::Block& block) {
  const auto values = block.Find("x")->As<int64_t>();
  return {values.begin(), values.end()};
}

// Reads to the end, and checks where the reader says it is.
std::vector<int64_t> ReadToEnd(FrameReader& reader) {
  std::vector<int64_t> rows;
  while (true) {
    const int64_t next = reader.next_row();
    const absl::Status fetched = reader.Fetch();
    CHECK(fetched.ok()) << fetched;
    const std::optional<core::Block> block = reader.Next(NoBadRows()).value();
    if (!block) return rows;
    const std::vector<int64_t> more = NumbersOf(*block);
    EXPECT_TRUE(more.empty() || more.front() == next) << next;
    rows.insert(rows.end(), more.begin(), more.end());
  }
}

TEST(FrameReaderTest, GivesEveryRangeAndReadsNoOtherFrame) {
  const std::vector<int64_t> begins = {0, 3, 3, 8};  // Of the frames.
  const std::vector<int64_t> ends = {3, 3, 8, 9};
  for (int64_t begin = 0; begin <= 9; ++begin) {
    for (int64_t end = begin + 1; end <= 12; ++end) {
      Disk disk({3, 0, 5, 1});
      FrameReader reader = ReaderOf(disk, begin, end);
      const std::vector<int64_t> rows = ReadToEnd(reader);
      ASSERT_EQ(std::ssize(rows), std::min<int64_t>(end, 9) - begin);
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i], begin + static_cast<int64_t>(i));
      }
      for (const int64_t frame : disk.read) {
        EXPECT_LE(begins[frame], end);
        EXPECT_GE(ends[frame], begin);
      }
    }
  }
}

TEST(FrameReaderTest, NoFramesAreNoRows) {
  Disk disk({});
  FrameReader reader = ReaderOf(disk, 0, 5);
  EXPECT_THAT(ReadToEnd(reader), IsEmpty());
  EXPECT_THAT(reader.FetchNow(), IsOkAndHolds(true));
}

TEST(FrameReaderTest, TheEndStaysTheEnd) {
  Disk disk({2});
  FrameReader reader = ReaderOf(disk, 0, 2);
  EXPECT_THAT(ReadToEnd(reader), ElementsAre(0, 1));
  EXPECT_THAT(ReadToEnd(reader), IsEmpty());
  EXPECT_EQ(reader.next_row(), 2);
}

TEST(FrameReaderTest, OpensNothingWithoutWaitingWhereThatWaits) {
  Disk disk({2});
  FrameReader reader = ReaderOf(disk, 0, 2);
  EXPECT_THAT(reader.FetchNow(), IsOkAndHolds(false));
  ASSERT_THAT(reader.Fetch(), base::IsOk());
  EXPECT_THAT(reader.FetchNow(), IsOkAndHolds(true));  // It is there.
  EXPECT_EQ(NumbersOf(**reader.Next(NoBadRows())), (std::vector<int64_t>{0, 1}));
  EXPECT_THAT(disk.read, ElementsAre(0));
}

TEST(FrameReaderTest, WhatNeverWaitsIsReadNow) {
  Disk disk({2, 2});
  FrameReader reader = ReaderOf(disk, 1, 3, /*waits=*/false);
  ASSERT_THAT(reader.FetchNow(), IsOkAndHolds(true));
  EXPECT_EQ(NumbersOf(**reader.Next(NoBadRows())), (std::vector<int64_t>{1}));
  ASSERT_THAT(reader.FetchNow(), IsOkAndHolds(true));
  EXPECT_EQ(NumbersOf(**reader.Next(NoBadRows())), (std::vector<int64_t>{2}));
  ASSERT_THAT(reader.FetchNow(), IsOkAndHolds(true));
  EXPECT_EQ(*reader.Next(NoBadRows()), std::nullopt);
  EXPECT_THAT(disk.read, IsEmpty());  // All without Fetch.
}

TEST(FrameReaderTest, AFrameThatIsThereInPartIsFetchedWhole) {
  Disk disk({3, 3});
  FrameReader reader = ReaderOf(disk, 0, 6, /*waits=*/false);
  for (const int64_t at_hand : {int64_t{0}, int64_t{1}, disk.table[0].bytes - 1}) {
    disk.at_hand = at_hand;
    EXPECT_THAT(reader.FetchNow(), IsOkAndHolds(false)) << at_hand;
  }
  ASSERT_THAT(reader.Fetch(), base::IsOk());
  EXPECT_EQ(NumbersOf(**reader.Next(NoBadRows())), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_THAT(reader.FetchNow(), IsOkAndHolds(false));
  EXPECT_EQ(NumbersOf(**reader.Next(NoBadRows())), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_THAT(disk.read, ElementsAre(0, 1));
}

TEST(FrameReaderTest, ABlockOutlivesTheOnesBehindIt) {
  Disk disk({2, 2});
  FrameReader reader = ReaderOf(disk, 0, 4);
  const core::Block first = **reader.Next(NoBadRows());
  const core::Block second = **reader.Next(NoBadRows());
  EXPECT_EQ(NumbersOf(first), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(NumbersOf(second), (std::vector<int64_t>{2, 3}));
}

TEST(FrameReaderTest, ATableThatSaysOtherRowsIsNamed) {
  for (const int64_t wrong : {1, 3}) {
    Disk disk({2, 2, 2});
    disk.table[1].rows = wrong;
    FrameReader reader = ReaderOf(disk, 0, 6);
    ASSERT_THAT(reader.Next(NoBadRows()), base::IsOk());
    EXPECT_THAT(reader.Next(NoBadRows()),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("frame 1 of the disk"),
                               HasSubstr("other rows than the table says"))));
  }
}

TEST(FrameReaderTest, ADamagedFrameIsNamedBehindTheRowsBeforeIt) {
  Disk disk({2, 2});
  disk.frames[1].back() ^= 1;
  FrameReader reader = ReaderOf(disk, 0, 4);
  ASSERT_THAT(reader.Next(NoBadRows()), base::IsOk());
  EXPECT_THAT(reader.Next(NoBadRows()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("frame 1 of the disk"), HasSubstr("damaged"))));
}

TEST(FrameReaderTest, ADiskThatFailsIsNoDamage) {
  Disk disk({2, 2});
  disk.fails = absl::UnavailableError("gone");
  FrameReader waiting = ReaderOf(disk, 2, 4);
  const auto named =
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr("frame 1 of the disk"), HasSubstr("gone")));
  EXPECT_THAT(waiting.Fetch(), named);
  FrameReader now = ReaderOf(disk, 2, 4, /*waits=*/false);
  EXPECT_THAT(now.FetchNow(), named);
  disk.fails = absl::OkStatus();  // It is tried again.
  ASSERT_THAT(waiting.Fetch(), base::IsOk());
  EXPECT_EQ(NumbersOf(**waiting.Next(NoBadRows())), (std::vector<int64_t>{2, 3}));
}

TEST(FrameReaderTest, WhatCannotBeOpenedSaysSoEachTime) {
  FrameReader reader(
      {.open = []() -> absl::StatusOr<std::unique_ptr<storage::FrameRun>> {
         return absl::NotFoundError("no such frames");
       },
       .waits = false},
      {.split = 0, .begin = 0, .end = 4}, core::HeapPool());
  const auto missing = StatusIs(absl::StatusCode::kNotFound, "no such frames");
  EXPECT_THAT(reader.FetchNow(), missing);
  EXPECT_THAT(reader.Fetch(), missing);
  EXPECT_THAT(reader.Next(NoBadRows()), missing);
}

}  // namespace
}  // namespace millrace::ops
