#include "millrace/ops/source/byte_feed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
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
#include "millrace/ops/source.h"
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

TEST_P(ByteFeedTest, SaysWhenTheFileEndsTooEarly) {
  const std::string content = storage::Noise(5000);
  {
    const auto feed = Feed(content);
    BringWindow(*feed, 6000);
    EXPECT_THAT(feed->CheckHas(5000), IsOk());
    EXPECT_THAT(feed->CheckHas(5001),
                StatusIs(kDataLoss, HasSubstr("in the middle of a row, at byte 5000")));
    EXPECT_THAT(feed->Pass(5001), StatusIs(kDataLoss));
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
    ++*waits_;
    return blob_->Read(offset, room);
  }

  absl::StatusOr<int64_t> ReadNow(int64_t offset,
                                  absl::Span<std::byte> room) const override {
    return blob_->Read(offset, room.first(base::Mix64(++calls_) % (room.size() + 1)));
  }

 private:
  const std::unique_ptr<storage::Blob> blob_;
  int* waits_;
  mutable uint64_t calls_ = 0;
};

class StingyStore final : public storage::LocalFiles {
 public:
  absl::StatusOr<std::unique_ptr<storage::Blob>> Open(
      const storage::BlobInfo& listed) const override {
    return std::make_unique<StingyBlob>(*LocalFiles::Open(listed), &waits);
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
  }
  EXPECT_EQ(read, content);
  EXPECT_GT(at_hand, 0);
  EXPECT_GT(store.waits, 0);
}

// Stretches that are fetched ahead, in any order, are taken up in theirs.
TEST_P(ByteFeedTest, WhatWasFetchedAheadIsTakenUpInOrder) {
  const std::string content = storage::Noise(1'500'000);
  const StingyStore store;
  for (const int64_t window : {1000, 50'000}) {
    const auto feed = Feed(content, window, store);
    EXPECT_EQ(feed->Ahead(), nullptr);  // It is not open.
    std::string read;
    std::deque<std::shared_ptr<FetchAhead>> aheads;
    for (uint64_t turn = 0; !feed->is_rest() || !feed->window().empty(); ++turn) {
      const uint64_t draw = base::Mix64(turn);
      while (feed->ahead() < static_cast<int64_t>(draw % 4)) {
        std::shared_ptr<FetchAhead> ahead = feed->Ahead();
        if (ahead == nullptr) break;
        aheads.push_back(std::move(ahead));
      }
      if (!aheads.empty() && draw % 3 == 0) aheads.back()->Fetch();
      if (!aheads.empty() && !aheads.front()->FetchNow()) aheads.front()->Fetch();
      feed->Want(1 + static_cast<int64_t>(draw % 300));
      ASSERT_THAT(feed->Fetch(), IsOk());
      while (std::ssize(aheads) > feed->ahead()) aheads.pop_front();
      ASSERT_THAT(feed->Unfold(), IsOk());
      const size_t left = feed->is_rest() ? 0 : draw % 200;
      const std::string_view window_now = feed->window();
      const std::string_view part =
          window_now.substr(0, window_now.size() - std::min(left, window_now.size()));
      ASSERT_EQ(feed->offset(), std::ssize(read));
      read += part;
      ASSERT_THAT(feed->Pass(std::ssize(part)), IsOk());
    }
    EXPECT_EQ(read, content);
  }
}

TEST_P(ByteFeedTest, PassesOverWhatWasFetchedAhead) {
  const std::string content = storage::Noise(1'500'000);
  const auto feed = Feed(content, 50'000);
  BringWindow(*feed, 1);
  ASSERT_THAT(feed->Pass(std::ssize(feed->window())), IsOk());
  std::vector<std::shared_ptr<FetchAhead>> aheads;
  while (aheads.size() < 2) {
    if (std::shared_ptr<FetchAhead> ahead = feed->Ahead()) {
      ahead->Fetch();
      aheads.push_back(std::move(ahead));
      continue;
    }
    BringWindow(*feed, 1);  // As long as long content might come.
    ASSERT_THAT(feed->Pass(std::ssize(feed->window())), IsOk());
  }
  const int64_t to = 1'111'111;
  ASSERT_THAT(feed->Pass(to - feed->offset()), IsOk());
  while (feed->passing()) Bring(*feed);
  EXPECT_EQ(BringWindow(*feed, 100).substr(0, 100), content.substr(to, 100));
  EXPECT_EQ(feed->offset(), to);
}

TEST_P(ByteFeedTest, SetsLongContentApart) {
  const std::string content = storage::Noise(1'000'000);
  const auto feed = Feed(content, 1000);
  EXPECT_EQ(feed->can_set_apart(), GetParam() == "a");  // Else it has no places.
  if (!feed->can_set_apart()) return;
  BringWindow(*feed, 100);
  ASSERT_THAT(feed->Pass(33), IsOk());
  std::vector<SetApart> apart;
  std::vector<int64_t> begins;
  for (const int64_t size : {300'000, 20, 500'001}) {
    begins.push_back(feed->offset());
    const auto set = feed->PassApart(size);
    ASSERT_THAT(set, IsOk());
    apart.push_back(*set);
    EXPECT_EQ(feed->offset(), begins.back() + size);
    BringWindow(*feed, 50);
  }
  EXPECT_EQ(feed->window().substr(0, 50), content.substr(feed->offset(), 50));
  for (size_t i = apart.size(); i-- > 0;) {
    if (!apart[i].rest->FetchNow()) apart[i].rest->Fetch();
    EXPECT_THAT(apart[i].rest->status(), IsOk());
    EXPECT_EQ(apart[i].room.text().substr(apart[i].begin),
              content.substr(begins[i], apart[i].room.size() - apart[i].begin));
  }
  EXPECT_THAT(feed->PassApart(1'000'000), StatusIs(kDataLoss));
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
