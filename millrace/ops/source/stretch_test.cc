#include "millrace/ops/source/stretch.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kResourceExhausted;
using absl::StatusCode::kUnavailable;
using base::IsOk;
using base::StatusIs;

class StretchTest : public testing::Test {
 protected:
  std::shared_ptr<const storage::Blob> Open() {
    return *store_.Open(*store_.Find(folder_.Write("a", content_)));
  }

  const std::string content_ = storage::Noise(10'000);
  const storage::TemporaryFolder folder_;
  storage::FailingStore store_{storage::ProcessFiles()};
};

TEST_F(StretchTest, BringsABytesOfAFileIntoARoomOfItsOwn) {
  Stretch stretch(Open(), {.offset = 100, .size = 5000, .headroom = 64},
                  core::HeapPool());
  EXPECT_EQ(stretch.room().size(), 0);  // It takes no memory before.
  if (!stretch.FetchNow()) stretch.Fetch();
  EXPECT_TRUE(stretch.FetchNow());
  stretch.Fetch();  // Once more changes nothing.
  EXPECT_THAT(stretch.status(), IsOk());
  EXPECT_EQ(stretch.room().text().substr(stretch.headroom()),
            content_.substr(100, 5000));
}

TEST_F(StretchTest, FillsTheRoomItIsGiven) {
  core::Buffer room = *core::HeapPool().Allocate(300);
  room.mutable_data()[99] = std::byte{'!'};
  Stretch stretch(Open(), {.offset = 9900, .size = 100, .headroom = 100}, room);
  stretch.Fetch();
  EXPECT_EQ(room.text().substr(99, 101), "!" + content_.substr(9900));
}

TEST_F(StretchTest, NothingIsThereAtOnce) {
  Stretch stretch(Open(), {.offset = 10'000, .size = 0}, core::HeapPool());
  EXPECT_TRUE(stretch.FetchNow());
}

// Piece by piece, going on from what stands before it.
TEST_F(StretchTest, IsSummedUpAsItComes) {
  const std::string content = storage::Noise(700'000);
  const std::shared_ptr<const storage::Blob> blob =
      *store_.Open(*store_.Find(folder_.Write("long", content)));
  for (const bool now : {true, false}) {
    Stretch stretch(blob,
                    {.offset = 10,
                     .size = 600'000,
                     .sum_before = codec::Crc32c(content.substr(0, 10))},
                    core::HeapPool());
    if (!now || !stretch.FetchNow()) stretch.Fetch();
    EXPECT_EQ(stretch.sum(), codec::Crc32c(content.substr(0, 600'010)));
    EXPECT_EQ(stretch.room().text(), content.substr(10, 600'000));
  }
  Stretch plain(blob, {.offset = 10, .size = 600'000}, core::HeapPool());
  plain.Fetch();
  EXPECT_EQ(plain.sum(), std::nullopt);
}

TEST_F(StretchTest, WhatWentWrongStays) {
  auto blob = Open();
  store_.FailAt(0);
  Stretch stretch(std::move(blob), {.offset = 0, .size = 10}, core::HeapPool());
  stretch.Fetch();
  EXPECT_THAT(stretch.status(), StatusIs(kUnavailable));
  store_.FailAt(-1);
  EXPECT_TRUE(stretch.FetchNow());  // There is nothing more to fetch.
  stretch.Fetch();
  EXPECT_THAT(stretch.status(), StatusIs(kUnavailable));
}

TEST_F(StretchTest, WithoutMemoryItSaysSo) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 1000});
  Stretch stretch(Open(), {.offset = 0, .size = 5000}, pool);
  EXPECT_TRUE(stretch.FetchNow());
  EXPECT_THAT(stretch.status(), StatusIs(kResourceExhausted));
}

TEST_F(StretchTest, ItsPlaceIsAlignedAsInTheFile) {
  for (const int64_t offset : {0, 1, 63, 64, 100, 4096, 1'000'001}) {
    const int64_t place = AlignedPlace(offset);
    EXPECT_TRUE(place >= 0 && place < core::kAlignment);
    EXPECT_EQ((offset - place) % core::kAlignment, 0);
  }
}

}  // namespace
}  // namespace millrace::ops
