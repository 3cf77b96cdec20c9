// Files of frames as a source; passes over them are exec/save_test.cc's.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/source.h"
#include "millrace/storage/frames_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class ReadFramesTest : public testing::Test {
 protected:
  // Writes rows 0, 1, 2, ... of a field x in blocks of so many rows.
  std::string Write(
      const std::string& name, const std::vector<int64_t>& blocks,
      const core::Spec& spec = core::Spec({{"x", core::DType::kInt64, {}}})) {
    const std::string path = folder_ / name;
    const SaveFormat& format = **DefaultLibrary().FindFormat("frames");
    std::unique_ptr<RowsFile> file =
        format
            .begin(storage::ProcessFiles().Create(path).value(),
                   {.spec = spec, .pool = core::HeapPool()})
            .value();
    int64_t first = 0;
    for (const int64_t rows : blocks) {
      CHECK(file->Append(storage::NumbersBlock(rows, first)).ok());
      first += rows;
    }
    CHECK(file->Publish().ok());
    return path;
  }

  absl::StatusOr<std::unique_ptr<Source>> Open(const std::string& more = "") {
    const ir::Pipeline node =
        TRY(ir::Parse(base::StrCat("%0 = read_frames(paths=[\"", folder_ / "*.frames",
                                   "\"]", more, ")"),
                      {}, DefaultLibrary().catalog()));
    return DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(ReadFramesTest, GivesAnyRowsOfAFile) {
  Write("a.frames", {3, 5, 4});
  Write("b.frames", {});
  const std::unique_ptr<Source> source = Open().value();
  const lanes::Manifest manifest = source->List().value();
  ASSERT_EQ(manifest.splits.size(), 2);
  EXPECT_EQ(manifest.splits[0].rows, 12);
  EXPECT_TRUE(manifest.splits[0].seekable);
  EXPECT_EQ(manifest.splits[1].rows, 0);
  for (int64_t begin = 0; begin <= 12; ++begin) {
    for (int64_t end = begin; end <= 12; ++end) {
      std::vector<core::Block> blocks =
          ReadAll(*source, {.split = 0, .begin = begin, .end = end}).value();
      std::erase_if(blocks, [](const core::Block& b) { return b.rows() == 0; });
      if (begin == end) {
        EXPECT_TRUE(blocks.empty());
        continue;
      }
      const core::Block all = core::Concatenate(blocks, core::HeapPool()).value();
      EXPECT_TRUE(core::SameRows(*all.Find("x"),
                                 *storage::NumbersBlock(end - begin, begin).Find("x")));
      EXPECT_EQ(all.IdAt(0), SourceRowId(0, 0, begin));
    }
  }
}

TEST_F(ReadFramesTest, FilesOfOtherFieldsAreNamed) {
  Write("a.frames", {3});
  const std::string other =
      Write("b.frames", {3}, core::Spec({{"y", core::DType::kInt64, {}}}));
  EXPECT_THAT(Open().value()->List(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(other), HasSubstr("{y: int64}"))));
}

TEST_F(ReadFramesTest, RowsThatAreNotWhatTheFileSaysAreNamed) {
  const std::string path =
      Write("a.frames", {3}, core::Spec({{"x", core::DType::kInt32, {}}}));
  const std::unique_ptr<Source> source = Open().value();
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_THAT(ReadAll(*source, {.split = 0, .begin = 0, .end = 3}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
}

TEST_F(ReadFramesTest, WhatIsNoSuchFileIsNamed) {
  const std::string path =
      folder_.Write("a.frames", "no frames, but long enough for it");
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
}

}  // namespace
}  // namespace millrace::ops
