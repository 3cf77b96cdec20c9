// What is saved as Arrow and Parquet is read again, value for value.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/export.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/adapters/arrow/operators.h"
#include "millrace/adapters/arrow/sample_files_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ops/save_format.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::arrow {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class SaveFormatsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!OpenModule().ok()) GTEST_SKIP() << "there is no Arrow module";
  }

  // Writes blocks to a file of a format, and reads it.
  core::Block Again(const ops::SaveFormat& format, const core::Spec& spec,
                    const std::vector<core::Block>& blocks) {
    const std::string path = base::StrCat(folder_ / "rows", format.ending);
    EXPECT_THAT(format.check(spec), IsOk());
    std::unique_ptr<ops::RowsFile> file =
        format
            .begin(storage::ProcessFiles().Create(path).value(),
                   {.spec = spec, .pool = core::HeapPool()})
            .value();
    for (const core::Block& block : blocks) {
      EXPECT_THAT(file->Append(block), IsOk());
    }
    EXPECT_THAT(file->Publish(), IsOk());
    EXPECT_GT(file->bytes(), 0);
    return ReadCall(CallFor(path)).value();
  }

  const storage::TemporaryFolder folder_;
};

// Sizes that a spec knows where all rows agree on them, as far as half of the axes go.
core::Shape ShapeFor(int rank, const core::PlainRows& rows, core::RandomSamples& draw) {
  std::vector<int64_t> sizes(rank, core::kUnknownSize);
  std::vector<core::Plain> level = rows;
  for (int axis = 0; axis < rank; ++axis) {
    std::vector<core::Plain> below;
    bool uniform = !level.empty();
    for (const core::Plain& value : level) {
      uniform = uniform && value.list.size() == level[0].list.size();
      below.insert(below.end(), value.list.begin(), value.list.end());
    }
    if (uniform && !level[0].list.empty() && draw.Below(2) == 0) {
      sizes[axis] = static_cast<int64_t>(level[0].list.size());
    }
    level = std::move(below);
  }
  return core::Shape(sizes);
}

TEST_F(SaveFormatsTest, EveryLayoutOfEveryTypeComesBack) {
  core::RandomSamples samples(7);
  for (const ops::SaveFormat& format : {ArrowFormat(), ParquetFormat()}) {
    for (const core::DType dtype : core::kAllDTypes) {
      // Arrow has no such type; samples of texts are no UTF-8.
      if (dtype == core::DType::kBFloat16 || dtype == core::DType::kString) continue;
      for (const core::Layout layout : core::kAllLayouts) {
        for (int rank = 0; rank < 4; ++rank) {
          const int64_t rows = 1 + samples.Below(5);
          const core::Sample sample = samples.Sliced(layout, dtype, rank, rows);
          const core::Spec spec({{"x", dtype, ShapeFor(rank, sample.rows, samples)}});
          const core::Block again =
              Again(format, spec, {{rows, {"x"}, {sample.column}}});
          ASSERT_EQ(again.rows(), rows);
          ASSERT_EQ(core::ReadRows(again.columns()[0]), sample.rows)
              << format.name << " " << core::Name(dtype) << " "
              << static_cast<int>(layout) << " " << rank << " " << spec.ToString();
        }
      }
    }
  }
}

TEST_F(SaveFormatsTest, BlocksOfDifferentLayoutsGoIntoOneFile) {
  core::RandomSamples samples(8);
  const core::Spec spec({{"x", core::DType::kInt32, {core::kUnknownSize}}});
  for (const ops::SaveFormat& format : {ArrowFormat(), ParquetFormat()}) {
    std::vector<core::Block> blocks;
    core::PlainRows rows;
    for (const core::Layout layout : core::kAllLayouts) {
      core::Sample sample = samples.Of(layout, core::DType::kInt32, 1, 5);
      rows.insert(rows.end(), sample.rows.begin(), sample.rows.end());
      blocks.emplace_back(5, core::FieldNames{"x"},
                          std::vector<core::Column>{sample.column});
    }
    EXPECT_EQ(core::ReadRows(Again(format, spec, blocks).columns()[0]), rows);
  }
}

TEST_F(SaveFormatsTest, TextsMustBeUtf8) {
  const auto block = [](std::vector<std::string> texts) {
    const core::Tensor all = core::Tensor::FromTexts(texts, {2});
    return core::Block(
        2, {"t"},
        {core::Column::Texts(core::DType::kString, 2, all.offsets(), all.values())});
  };
  const core::Spec spec({{"t", core::DType::kString, {}}});
  const core::Block good = block({"straße", ""});
  for (const ops::SaveFormat& format : {ArrowFormat(), ParquetFormat()}) {
    EXPECT_TRUE(
        core::SameRows(*Again(format, spec, {good}).Find("t"), *good.Find("t")));
  }
  EXPECT_THAT(ExportRows(spec, block({"a", "\xff"}), core::HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("t: text 1"), HasSubstr("as bytes"))));
}

TEST_F(SaveFormatsTest, WhatArrowDoesNotHaveIsRefusedWithARemedy) {
  EXPECT_THAT(CheckHolds(core::Spec({{"x", core::DType::kBFloat16, {}}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("{x: bfloat16}"), HasSubstr("cast"))));
  EXPECT_THAT(
      CheckHolds(core::Spec({{"x", core::DType::kInt8, core::Shape::Unranked()}})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("axes")));
  EXPECT_THAT(CheckHolds(core::Spec()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no")));
}

// A writer that fails once it has so many bytes.
class FullDisk final : public storage::BlobWriter {
 public:
  explicit FullDisk(int64_t room) : room_(room) {}

  absl::Status Append(std::string_view bytes) override {
    room_ -= std::ssize(bytes);
    return room_ < 0 ? absl::ResourceExhaustedError("no space left on disk")
                     : absl::OkStatus();
  }

  absl::Status Publish(storage::Sync /*sync*/) override { return absl::OkStatus(); }

 private:
  int64_t room_;
};

TEST_F(SaveFormatsTest, WhatTheDiskSaysIsPassedOn) {
  const core::Spec spec({{"x", core::DType::kInt64, {}}});
  const core::Sample sample =
      core::RandomSamples(9).Of(core::Layout::kDense, core::DType::kInt64, 0, 1000);
  for (const ops::SaveFormat& format : {ArrowFormat(), ParquetFormat()}) {
    absl::StatusOr<std::unique_ptr<ops::RowsFile>> file = format.begin(
        std::make_unique<FullDisk>(2000), {.spec = spec, .pool = core::HeapPool()});
    ASSERT_THAT(file, IsOk());
    absl::Status status;
    for (int i = 0; i < 100 && status.ok(); ++i) {
      status = (*file)->Append({1000, {"x"}, {sample.column}});
    }
    if (status.ok()) status = (*file)->Publish();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                 HasSubstr("no space left")))
        << format.name;
  }
}

}  // namespace
}  // namespace millrace::arrow
