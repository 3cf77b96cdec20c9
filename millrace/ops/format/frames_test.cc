#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/frames/frame.h"
#include "millrace/ops/library.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/frame_file.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::StatusIs;

class FramesTest : public testing::Test {
 protected:
  static const SaveFormat& Format() { return **DefaultLibrary().FindFormat("frames"); }

  std::string Path() const { return folder_ / "rows.frames"; }

  std::unique_ptr<RowsFile> Begin(core::Spec spec = {}) const {
    return Format()
        .begin(storage::ProcessFiles().Create(Path()).value(),
               {.spec = std::move(spec), .pool = core::HeapPool()})
        .value();
  }

  std::unique_ptr<storage::FrameFile> Opened() const {
    const storage::BlobInfo info = storage::ProcessFiles().Find(Path()).value();
    return storage::FrameFile::Open(storage::ProcessFiles().Open(info).value()).value();
  }

  static core::Block BlockAt(const storage::FrameFile& file, int64_t frame) {
    core::Buffer bytes = core::HeapPool().Allocate(file.frames()[frame].bytes).value();
    CHECK(file.Read(frame, bytes.MutableAs<std::byte>()).ok());
    return frames::Decode(bytes).value();
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(FramesTest, EveryBlockIsAFrameAndTheNoteSaysTheFields) {
  const core::Spec spec({{"value", core::DType::kInt64, {}}});
  const std::unique_ptr<RowsFile> file = Begin(spec);
  ASSERT_THAT(file->Append(Numbers(0, 3)), IsOk());
  ASSERT_THAT(file->Append(Numbers(3, 3)), IsOk());  // Without rows.
  ASSERT_THAT(file->Append(Numbers(3, 7)), IsOk());
  ASSERT_THAT(file->Publish(), IsOk());
  const std::unique_ptr<storage::FrameFile> read = Opened();
  EXPECT_EQ(read->rows(), 7);
  EXPECT_EQ(read->note(), spec.ToString());
  ASSERT_EQ(read->frames().size(), 3);
  const core::Block last = BlockAt(*read, 2);
  EXPECT_TRUE(core::SameRows(*last.Find("value"), *Numbers(3, 7).Find("value")));
}

TEST_F(FramesTest, IdentitiesAreNotSaved) {
  ASSERT_TRUE(Numbers(0, 3).has_ids());
  const std::unique_ptr<RowsFile> file = Begin();
  ASSERT_THAT(file->Append(Numbers(0, 3)), IsOk());
  ASSERT_THAT(file->Publish(), IsOk());
  EXPECT_FALSE(BlockAt(*Opened(), 0).has_ids());
}

TEST_F(FramesTest, HoldsRowsOfEveryLayoutAndType) {
  core::RandomSamples samples(5);
  for (const core::DType dtype : core::kAllDTypes) {
    const std::unique_ptr<RowsFile> file = Begin();
    std::vector<core::PlainRows> expected;
    for (const core::Layout layout : core::kAllLayouts) {
      const core::Sample sample = samples.Sliced(layout, dtype, 2, 4);
      expected.push_back(sample.rows);
      ASSERT_THAT(file->Append(core::Block(4, {"x"}, {sample.column})), IsOk());
    }
    ASSERT_THAT(file->Publish(), IsOk());
    const std::unique_ptr<storage::FrameFile> read = Opened();
    for (size_t i = 0; i < expected.size(); ++i) {
      const core::Block block = BlockAt(*read, static_cast<int64_t>(i));
      EXPECT_EQ(core::ReadRows(block.columns()[0]), expected[i]) << core::Name(dtype);
    }
  }
}

TEST_F(FramesTest, TellsHowLongItIs) {
  const std::unique_ptr<RowsFile> file = Begin();
  EXPECT_EQ(file->bytes(), 0);
  ASSERT_THAT(file->Append(Numbers(0, 1000)), IsOk());
  EXPECT_GE(file->bytes(), 8000);
  const int64_t told = file->bytes();
  ASSERT_THAT(file->Publish(), IsOk());
  EXPECT_GE(static_cast<int64_t>(std::filesystem::file_size(Path())), told);
  EXPECT_LE(static_cast<int64_t>(std::filesystem::file_size(Path())), told + 200);
}

TEST_F(FramesTest, IsNotThereBeforeItIsComplete) {
  ASSERT_THAT(Begin()->Append(Numbers(0, 3)), IsOk());
  EXPECT_THAT(storage::ProcessFiles().Find(Path()),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(FramesTest, AnythingFitsAndIsReadAsItIs) {
  const core::Spec spec({{"a.b \"c\"", core::DType::kBool, {3, core::kUnknownSize}},
                         {"__key__", core::DType::kFloat16, {}}});
  EXPECT_THAT(Format().check(spec), IsOk());
  EXPECT_THAT(Format().check({}), IsOk());
  EXPECT_EQ(Format().read_as(spec), spec);
}

}  // namespace
}  // namespace millrace::ops
