#include "millrace/ops/source/byte_feed.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/codec/compress_test.h"
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
  std::unique_ptr<ByteFeed> Feed(const std::string& content, int64_t window = 1000) {
    std::string bytes = content;
    if (GetParam() == "a.gz") bytes = codec::Gzipped(content);
    if (GetParam() == "a.zst") bytes = codec::Zstandard(content);
    const storage::BlobInfo file =
        *storage::ProcessFiles().Find(folder_.Write(GetParam(), bytes));
    return std::make_unique<ByteFeed>(
        storage::ProcessFiles(), file,
        FeedOptions{.begin = 0, .end = file.bytes, .window_bytes = window},
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
