#include "millrace/adapters/arrow/columnar_file.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/module.h"
#include "millrace/adapters/arrow/sample_files_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kNotFound;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class ColumnarFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status module = OpenModule().status();
    if (!module.ok()) GTEST_SKIP() << module;
  }

  static absl::StatusOr<std::shared_ptr<const ColumnarFile>> Open(
      const std::string& path) {
    const storage::BlobStore& store = storage::ProcessFiles();
    return OpenColumnarFile(
        path.ends_with(".parquet") ? FileFormat::kParquet : FileFormat::kMessages,
        store,
        {.path = path,
         .bytes = store.Find(path)->bytes,
         .version = store.Find(path)->version});
  }
};

TEST_F(ColumnarFileTest, PartsAreRowGroups) {
  const auto file = *Open(Sample("types.parquet"));
  EXPECT_EQ(file->parts(), 4);
  EXPECT_EQ(file->rows(), 300);
  EXPECT_EQ(file->part_rows_max(), 90);
  EXPECT_EQ(file->PartOf(0), 0);
  EXPECT_EQ(file->PartOf(89), 0);
  EXPECT_EQ(file->PartOf(90), 1);
  EXPECT_EQ(file->PartOf(299), 3);
  EXPECT_EQ(file->BeginOf(3), 270);
  EXPECT_EQ(file->EndOf(3), 300);
}

TEST_F(ColumnarFileTest, PartsAreRecordBatches) {
  for (const std::string name : {"types.arrow", "types.arrows"}) {
    const auto file = *Open(Sample(name));
    EXPECT_EQ(file->parts(), 5);
    EXPECT_EQ(file->PartOf(299), 4);
    EXPECT_EQ(file->part_rows_max(), 70);
  }
}

// Each batch is a stream of its own: the schema, the dictionary, the batch.
TEST_F(ColumnarFileTest, ABatchNeedsWhatStandsBeforeIt) {
  const auto file = *Open(Sample("types.arrows"));
  const std::vector<Needed> needed = *file->NeededFor(2, {});
  ASSERT_EQ(needed.size(), 3U);
  EXPECT_EQ(needed[0].offset, 0);
  EXPECT_EQ(needed[0].place, 0);
  EXPECT_EQ(needed[1].place, needed[0].size);
  EXPECT_EQ(needed[2].place, needed[0].size + needed[1].size);
  EXPECT_GT(needed[2].offset, needed[1].offset + needed[1].size);
}

TEST_F(ColumnarFileTest, RowsHaveAboutTheirSize) {
  const auto file = *Open(Sample("types.parquet"));
  EXPECT_NEAR(file->RowBytes(0, std::vector<int64_t>{7}), 8, 4);  // int64.
}

TEST_F(ColumnarFileTest, WhatIsNoSuchFileIsNamed) {
  const storage::TemporaryFolder folder;
  for (const std::string name : {"a.parquet", "a.arrow"}) {
    for (const std::string content :
         {"", "PAR1", "PAR1....PAR1", "hello, world, hello"}) {
      EXPECT_THAT(Open(folder.Write(name, content)),
                  StatusIs(kDataLoss, HasSubstr(folder / name)));
    }
  }
}

TEST_F(ColumnarFileTest, AFooterThatIsLongerThanTheFileIsRefused) {
  const storage::TemporaryFolder folder;
  std::string bytes = storage::ReadFile(Sample("types.parquet"));
  bytes.replace(bytes.size() - 8, 4, "\xFF\xFF\xFF\x7F");
  EXPECT_THAT(Open(folder.Write("a.parquet", bytes)),
              StatusIs(kDataLoss,
                       AllOf(HasSubstr("Arrow cannot read it"), HasSubstr("; file "))));
}

TEST_F(ColumnarFileTest, AFileThatIsGoneIsNotFound) {
  EXPECT_THAT(OpenColumnarFile(FileFormat::kParquet, storage::ProcessFiles(),
                               {.path = "/nowhere.parquet", .bytes = 9, .version = ""}),
              StatusIs(kNotFound));
}

}  // namespace
}  // namespace millrace::arrow
