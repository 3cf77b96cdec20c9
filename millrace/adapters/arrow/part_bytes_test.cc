#include "millrace/adapters/arrow/part_bytes.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/counting_store_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kUnavailable;
using base::StatusIs;
using testing::HasSubstr;

constexpr int64_t kPiece = 4096;

// A file of which every second piece is needed.
class EverySecond final : public ColumnarFile {
 public:
  EverySecond(storage::BlobInfo info, int64_t size)
      : ColumnarFile(std::move(info), nullptr), size_(size) {}

  double RowBytes(int64_t /*part*/, absl::Span<const int64_t>) const override {
    return 1;
  }

  bool MayHaveNulls(int64_t /*part*/, int64_t /*field*/) const override { return true; }

  absl::StatusOr<std::vector<Needed>> NeededFor(
      int64_t /*part*/, absl::Span<const int64_t>) const override {
    std::vector<Needed> needed;
    for (int64_t at = 0; at < size_; at += 2 * kPiece) {
      needed.push_back({at, std::min(kPiece, size_ - at), at});
    }
    return needed;
  }

 private:
  int64_t GroupOf(int64_t /*part*/) const override { return 0; }

  const int64_t size_;
};

class PartBytesTest : public testing::Test {
 protected:
  // Its file says that it has so many bytes.
  PartBytes Bytes(const storage::BlobStore& store, int64_t size) {
    file_ = std::make_unique<EverySecond>(*storage::ProcessFiles().Find(path_), size);
    return {*file_, {}, store, core::HeapPool()};
  }

  PartBytes Bytes(const storage::BlobStore& store) {
    return Bytes(store, std::ssize(content_));
  }

  // What was fetched is what the file has there.
  void Check(PartBytes& bytes) const {
    const std::vector<Fetched> all = bytes.Release();
    EXPECT_EQ(all.size(), 50U);
    for (const Fetched& fetched : all) {
      EXPECT_EQ(fetched.bytes.text(),
                content_.substr(fetched.place, fetched.bytes.size()));
    }
  }

  const storage::TemporaryFolder folder_;
  const std::string content_ = storage::Noise(100 * kPiece - 5, 1);
  const std::string path_ = folder_.Write("bytes", content_);
  std::unique_ptr<EverySecond> file_;
};

TEST_F(PartBytesTest, FetchesWhatIsNeededOnce) {
  const CountingStore store;
  PartBytes bytes = Bytes(store);
  ASSERT_THAT(bytes.Fetch(), base::IsOk());
  EXPECT_EQ(store.bytes(), 50 * kPiece);
  ASSERT_THAT(bytes.Fetch(), base::IsOk());
  EXPECT_TRUE(*bytes.FetchNow());
  EXPECT_EQ(store.bytes(), 50 * kPiece);
  Check(bytes);
}

TEST_F(PartBytesTest, ManyThreadsShareTheFetching) {
  const CountingStore store;
  PartBytes bytes = Bytes(store);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        if (i % 2 == 0) {
          EXPECT_THAT(bytes.FetchNow(), base::IsOk());
        }
        EXPECT_THAT(bytes.Fetch(), base::IsOk());
      });
    }
  }
  EXPECT_EQ(store.bytes(), 50 * kPiece);
  Check(bytes);
}

TEST_F(PartBytesTest, WhatTakesWaitingIsLeftToWhoWaits) {
  const CountingStore store;  // It has nothing at hand.
  PartBytes bytes = Bytes(store);
  EXPECT_FALSE(*bytes.FetchNow());
  EXPECT_EQ(store.bytes(), 0);
  PartBytes at_hand = Bytes(storage::ProcessFiles());
  ASSERT_THAT(at_hand.FetchNow(), base::IsOk());
  ASSERT_THAT(at_hand.Fetch(), base::IsOk());
  Check(at_hand);
}

TEST_F(PartBytesTest, GoesOnBehindAnErrorWhereItWas) {
  storage::FailingStore store(storage::ProcessFiles());
  PartBytes bytes = Bytes(store);
  for (const int64_t call : {0, 1, 7, 20}) {
    store.FailAt(call);
    EXPECT_THAT(bytes.Fetch(), StatusIs(kUnavailable, HasSubstr("the disk is gone")));
  }
  store.FailAt(int64_t{1} << 40);
  EXPECT_THAT(bytes.Fetch(), base::IsOk());
  EXPECT_LT(store.calls(), 30);
  Check(bytes);
}

TEST_F(PartBytesTest, AFileThatHasBecomeShorterIsAnError) {
  PartBytes bytes = Bytes(storage::ProcessFiles(), std::ssize(content_) + 3 * kPiece);
  EXPECT_THAT(bytes.Fetch(),
              StatusIs(kFailedPrecondition, HasSubstr("has become shorter; file ")));
}

}  // namespace
}  // namespace millrace::arrow
