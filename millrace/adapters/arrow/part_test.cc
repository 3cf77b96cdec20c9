#include "millrace/adapters/arrow/part.h"

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/adapters/arrow/sample_files_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kUnavailable;
using base::StatusIs;

class PartTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status module = OpenModule().status();
    if (!module.ok()) GTEST_SKIP() << module;
  }

  // A part of a sample, with some of its leaves.
  std::shared_ptr<Part> Open(const std::string& name, int64_t number,
                             const std::vector<std::string>& fields,
                             const storage::BlobStore& store) {
    const FileFormat format =
        name.ends_with(".parquet") ? FileFormat::kParquet : FileFormat::kMessages;
    file_ = *OpenColumnarFile(format, storage::ProcessFiles(),
                              *storage::ProcessFiles().Find(Sample(name)));
    WantedLeaves leaves;
    for (const std::string& field : fields) {
      leaves.push_back(file_->leaves().Find(field));
    }
    return std::make_shared<Part>(file_, number, leaves, store, core::HeapPool());
  }

  std::shared_ptr<Part> Open(const std::string& name, int64_t number,
                             const std::vector<std::string>& fields) {
    return Open(name, number, fields, storage::ProcessFiles());
  }

  std::shared_ptr<const ColumnarFile> file_;
};

TEST_F(PartTest, GivesTheRowsOfItsPartOfTheFile) {
  const auto part = Open("types.parquet", 2, {"int32", "point.x"});
  ASSERT_THAT(part->Fetch(), base::IsOk());
  const auto slice = part->Take(0, 90);
  ASSERT_THAT(slice, base::IsOk());
  ASSERT_NE(*slice, nullptr);
  ASSERT_EQ((**slice)[0].column.rows(), 90);
  EXPECT_EQ((**slice)[0].column.As<int32_t>()[5], 185);
  EXPECT_EQ((**slice)[1].column.As<int64_t>()[89], 269);
}

TEST_F(PartTest, ASliceStaysUntilAllItsRowsWereTaken) {
  const auto part = Open("types.arrow", 0, {"int32"});
  ASSERT_THAT(part->Fetch(), base::IsOk());
  EXPECT_FALSE(part->WasDropped(0));
  EXPECT_EQ(part->position(), 0);
  const auto first = *part->Take(0, 30);
  EXPECT_FALSE(part->WasDropped(0));
  EXPECT_EQ(*part->Take(0, 40), first);
  EXPECT_TRUE(part->WasDropped(0));
  EXPECT_EQ(part->position(), 1);
  EXPECT_EQ(*part->Take(0, 1), nullptr);
  EXPECT_EQ(first->front().column.As<int32_t>()[69], 69);
}

TEST_F(PartTest, WhoAsksSecondNeedNotFetch) {
  storage::FailingStore store(storage::ProcessFiles());
  const auto part = Open("types.parquet", 0, {"int32"}, store);
  store.FailAt(int64_t{1} << 40);
  ASSERT_THAT(part->Fetch(), base::IsOk());
  const int64_t calls = store.calls();
  EXPECT_GT(calls, 0);
  ASSERT_THAT(part->Fetch(), base::IsOk());
  EXPECT_TRUE(*part->FetchNow());
  EXPECT_EQ(store.calls(), calls);
}

TEST_F(PartTest, WhatCouldNotBeFetchedIsFetchedAgain) {
  storage::FailingStore store(storage::ProcessFiles());
  const auto part = Open("types.parquet", 0, {"int32", "utf8"}, store);
  for (const int64_t call : {0, 1}) {
    store.FailAt(call);
    EXPECT_THAT(part->Fetch(), StatusIs(kUnavailable));
  }
  store.FailAt(-1);
  EXPECT_THAT(part->Fetch(), base::IsOk());
  EXPECT_EQ((*part->Take(0, 90))->back().column.TextAt(1), "text 1");
}

TEST_F(PartTest, OnlyTheBytesOfTheFieldsAreNeeded) {
  Open("types.parquet", 1, {"int32"});
  const auto bytes = [&](const std::vector<int64_t>& fields) {
    const absl::StatusOr<std::vector<Needed>> all = file_->NeededFor(1, fields);
    int64_t sum = 0;
    for (const Needed& needed : *all) sum += needed.size;
    return sum;
  };
  const int64_t one = bytes({0});
  EXPECT_GT(one, 0);
  EXPECT_LT(one, 1000);
  EXPECT_GT(bytes({0, 1, 2, 3}), one);
}

TEST_F(PartTest, ManyThreadsGetTheSameSlice) {
  const auto part = Open("pages.parquet", 0, {"int32", "utf8", "lists", "pairs.text"});
  ASSERT_THAT(part->Fetch(), base::IsOk());
  std::vector<std::shared_ptr<const Slice>> slices(8);
  part->Want(0, 1);
  {
    std::vector<std::jthread> threads;
    for (std::shared_ptr<const Slice>& slice : slices) {
      threads.emplace_back([&] { slice = *part->Take(0, 30); });
    }
  }
  part->Unwant(0, 1);
  for (const std::shared_ptr<const Slice>& slice : slices) {
    ASSERT_NE(slice, nullptr);
    EXPECT_EQ(slice, slices[0]);
    EXPECT_EQ(slice->front().column.As<int32_t>()[299], 299);
  }
}

}  // namespace
}  // namespace millrace::arrow
