#include "millrace/ops/source/byte_feed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "millrace/base/status_matchers.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

// The same content in every way a file can hold it.
class ByteFeedTest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<ByteFeed> Feed(
      const std::string& content, int64_t window = 1000,
      const storage::BlobStore& store = storage::ProcessFiles()) {
    std::string bytes = content;
    if (GetParam() == "a.gz") bytes = codec::Gzipped(content);
    if (GetParam() == "a.zst") bytes = codec::Zstandard(content);
    const storage::BlobInfo file =
        *storage::ProcessFiles().Find(folder_.Write(GetParam(), bytes));
    return std::make_unique<ByteFeed>(
        store, file, FeedOptions{.begin = 0, .end = file.bytes, .window_bytes = window},
        core::HeapPool());
  }

  static void Bring(ByteFeed& feed) {
    ASSERT_THAT(feed.Fetch(), IsOk());
    ASSERT_THAT(feed.Unfold(), IsOk());
  }

  // Brings in at least this much.
  static std::string_view BringWindow(ByteFeed& feed, int64_t size) {
    feed.Want(size);
    while (std::ssize(feed.window()) < size && !feed.is_rest()) Bring(feed);
    return feed.window();
  }

  const storage::TemporaryFolder folder_;
};

TEST_P(ByteFeedTest, BringsInAllBytesWindowByWindow) {
  const std::string content = storage::Noise(10'000);
  const auto feed = Feed(content);
  std::string read;
  while (true) {
    const std::string_view window = BringWindow(*feed, 1);
    if (window.empty()) break;
    EXPECT_EQ(feed->offset(), std::ssize(read));
    const std::string_view part = window.substr(0, 333);
    read += part;
    ASSERT_THAT(feed->Pass(std::ssize(part)), IsOk());
  }
  EXPECT_EQ(read, content);
}

TEST_P(ByteFeedTest, TheWindowGrowsToWhatIsWanted) {
  const std::string content = storage::Noise(10'000);
  const auto feed = Feed(content);
  EXPECT_EQ(BringWindow(*feed, 7000).substr(0, 7000), content.substr(0, 7000));
  ASSERT_THAT(feed->Pass(6999), IsOk());
  EXPECT_EQ(BringWindow(*feed, 3001), content.substr(6999));
}

TEST_P(ByteFeedTest, PassesOverBytesThatAreNotThereYet) {
  const std::string content = storage::Noise(100'000);
  const auto feed = Feed(content);
  BringWindow(*feed, 10);
  ASSERT_THAT(feed->Pass(77'777), IsOk());
  while (feed->passing()) Bring(*feed);
  EXPECT_EQ(BringWindow(*feed, 100).substr(0, 100), content.substr(77'777, 100));
  EXPECT_EQ(feed->offset(), 77'777);
}

TEST_P(ByteFeedTest, FillsPlacesFromTheWindowAndFromWhatFollows) {
  const std::string content = storage::Noise(100'000);
  const auto feed = Feed(content);
  BringWindow(*feed, 100);
  ASSERT_THAT(feed->Pass(50), IsOk());
  for (const size_t size : {0U, 20U, 60'000U, 30'000U}) {
    const int64_t begin = feed->offset();
    std::vector<std::byte> place(size);
    ASSERT_THAT(feed->FillPlace(absl::MakeSpan(place)), IsOk());
    while (feed->filling()) Bring(*feed);
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(place.data()), size),
              content.substr(begin, size));
  }
  EXPECT_EQ(BringWindow(*feed, 9930), content.substr(90'070));
}

TEST_P(ByteFeedTest, SaysWhenTheFileEndsTooEarly) {
  const std::string content = storage::Noise(5000);
  {
    const auto feed = Feed(content);
    BringWindow(*feed, 6000);
    EXPECT_THAT(feed->CheckHas(5000), IsOk());
    EXPECT_THAT(feed->CheckHas(5001),
                StatusIs(kDataLoss, HasSubstr("in the middle of a row, at byte 5000")));
    EXPECT_THAT(feed->Pass(5001), StatusIs(kDataLoss));
    std::vector<std::byte> place(6000);
    EXPECT_THAT(feed->FillPlace(absl::MakeSpan(place)), StatusIs(kDataLoss));
  }
  const auto feed = Feed(content);  // Now before anything is known of its end.
  absl::Status status = feed->Pass(9000);
  for (int i = 0; i < 10 && status.ok(); ++i) {
    status.Update(feed->Fetch());
    status.Update(feed->Unfold());
  }
  EXPECT_THAT(status, StatusIs(kDataLoss));
}

TEST_P(ByteFeedTest, EmptyContentIsItsRestAtOnce) {
  const auto feed = Feed("");
  Bring(*feed);
  EXPECT_TRUE(feed->is_rest());
  EXPECT_EQ(feed->window(), "");
}

// Has only a part of what is asked for at hand, another part each time.
class StingyBlob final : public storage::Blob {
 public:
  StingyBlob(std::unique_ptr<storage::Blob> blob, int* waits)
      : blob_(std::move(blob)), waits_(waits) {}

  const storage::BlobInfo& info() const override { return blob_->info(); }

  absl::StatusOr<int64_t> Read(int64_t offset,
                               absl::Span<std::byte> room) const override {
    return Read(offset, room, {});
  }

  absl::StatusOr<int64_t> Read(int64_t offset, absl::Span<std::byte> first,
                               absl::Span<std::byte> second) const override {
    ++*waits_;
    return blob_->Read(offset, first, second);
  }

  absl::StatusOr<int64_t> ReadNow(int64_t offset, absl::Span<std::byte> first,
                                  absl::Span<std::byte> second) const override {
    const size_t all = first.size() + second.size();
    const size_t some = base::Mix64(++calls_) % (all + 1);
    const size_t in_first = std::min(some, first.size());
    return blob_->Read(offset, first.first(in_first), second.first(some - in_first));
  }

 private:
  const std::unique_ptr<storage::Blob> blob_;
  int* waits_;
  mutable uint64_t calls_ = 0;
};

class StingyStore final : public storage::BlobStore {
 public:
  absl::StatusOr<std::vector<storage::BlobInfo>> List(
      absl::Span<const std::string> patterns) const override {
    return storage::ProcessFiles().List(patterns);
  }

  absl::StatusOr<storage::BlobInfo> Find(const std::string& path) const override {
    return storage::ProcessFiles().Find(path);
  }

  absl::StatusOr<std::unique_ptr<storage::Blob>> Open(
      const storage::BlobInfo& listed) const override {
    return std::make_unique<StingyBlob>(*storage::ProcessFiles().Open(listed), &waits);
  }

  absl::StatusOr<std::unique_ptr<storage::BlobWriter>> Create(
      const std::string& path) const override {
    return storage::ProcessFiles().Create(path);
  }

  mutable int waits = 0;
};

TEST_P(ByteFeedTest, WhatIsNotAtHandIsWaitedForAndNothingIsLost) {
  const std::string content = storage::Noise(200'000);
  const StingyStore store;
  const auto feed = Feed(content, 1000, store);
  ASSERT_THAT(feed->FetchNow(), base::IsOkAndHolds(false));  // It is not open.
  ASSERT_THAT(feed->Fetch(), IsOk());
  std::string read;
  int at_hand = 0;
  for (int turn = 0; !feed->is_rest() || !feed->window().empty(); ++turn) {
    ASSERT_LT(turn, 10'000);
    const absl::StatusOr<bool> now = feed->FetchNow();
    ASSERT_THAT(now, IsOk());
    at_hand += *now ? 1 : 0;
    if (!*now) {
      ASSERT_THAT(feed->Fetch(), IsOk());
    }
    ASSERT_THAT(feed->Unfold(), IsOk());
    read += feed->window();
    ASSERT_THAT(feed->Pass(std::ssize(feed->window())), IsOk());
    if (turn % 3 > 0 || std::ssize(read) + 5000 > std::ssize(content)) continue;
    std::vector<std::byte> place(5000);  // Also straight to where it stays.
    ASSERT_THAT(feed->FillPlace(absl::MakeSpan(place)), IsOk());
    while (feed->filling()) {
      if (!*feed->FetchNow()) {
        ASSERT_THAT(feed->Fetch(), IsOk());
      }
      ASSERT_THAT(feed->Unfold(), IsOk());
    }
    read.append(reinterpret_cast<const char*>(place.data()), place.size());
  }
  EXPECT_EQ(read, content);
  EXPECT_GT(at_hand, 0);
  EXPECT_GT(store.waits, 0);
}

TEST_P(ByteFeedTest, WhoKeepsTheRoomKeepsWhatWasInTheWindow) {
  const std::string content = storage::Noise(50'000);
  const auto feed = Feed(content);
  std::vector<core::Buffer> rooms;
  std::vector<std::string_view> windows;
  while (true) {
    const std::string_view window = BringWindow(*feed, 1);
    if (window.empty()) break;
    rooms.push_back(feed->room());
    windows.push_back(rooms.back().text().substr(feed->begin(), window.size()));
    ASSERT_THAT(feed->Pass(std::ssize(window)), IsOk());
  }
  std::string all;
  for (const std::string_view window : windows) all += window;
  EXPECT_EQ(all, content);
}

INSTANTIATE_TEST_SUITE_P(Ways, ByteFeedTest, testing::Values("a", "a.gz", "a.zst"));

TEST_F(ByteFeedTest, ReadsOnlyThePartOfTheFileThatItIsGiven) {
  const std::string content = storage::Noise(5000);
  const storage::BlobInfo file =
      *storage::ProcessFiles().Find(folder_.Write("a", content));
  ByteFeed feed(storage::ProcessFiles(), file,
                {.begin = 1000, .end = 1500, .window_bytes = 4096}, core::HeapPool());
  EXPECT_EQ(feed.offset(), 1000);
  EXPECT_EQ(BringWindow(feed, 4000), content.substr(1000, 500));
  EXPECT_TRUE(feed.is_rest());
}

}  // namespace
}  // namespace millrace::ops
