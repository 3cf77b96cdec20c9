#include "millrace/frames/frame.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"

namespace millrace::frames {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

std::string BytesOf(const core::Block& block, Summed summed = Summed::kAll) {
  const Frame frame = Encode(block, core::HeapPool(), summed).value();
  std::string bytes;
  EXPECT_THAT(frame.ForEachPiece([&](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  }),
              IsOk());
  EXPECT_EQ(std::ssize(bytes), frame.bytes());
  EXPECT_EQ(bytes.size() % kFrameAlignment, 0);
  return bytes;
}

absl::StatusOr<core::Block> BlockOf(std::string_view bytes,
                                    Summed summed = Summed::kAll) {
  return Decode(
      core::CopyBytes(bytes.data(), std::ssize(bytes), core::HeapPool()).value(),
      summed);
}

core::Block Small() {
  const core::Tensor tensor = core::Tensor::Text("text");
  return {2,
          {"number", "text"},
          {core::Column::Dense(core::DType::kInt32, 2, {},
                               core::BufferOf(std::vector<int32_t>{7, 8})),
           core::Column::Repeat(tensor, 2, core::HeapPool()).value()}};
}

TEST(FrameTest, ValuesNeedNoSumWhereBothSidesSaySo) {
  std::string bytes = BytesOf(Small(), Summed::kHead);
  EXPECT_THAT(BlockOf(bytes, Summed::kHead), IsOk());
  EXPECT_THAT(BlockOf(bytes), StatusIs(absl::StatusCode::kDataLoss));
  bytes[kPreambleBytes] ^= 1;  // The head has one in any case.
  EXPECT_THAT(BlockOf(bytes, Summed::kHead), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(FrameTest, EveryLayoutOfEveryTypeComesBack) {
  core::RandomSamples samples(1);
  for (const core::DType dtype : core::kAllDTypes) {
    for (const core::Layout layout : core::kAllLayouts) {
      for (int rank = 0; rank < 4; ++rank) {
        const int64_t rows = samples.Below(6);
        const core::Sample sample = samples.Sliced(layout, dtype, rank, rows);
        const core::Block block(rows, {"field"}, {sample.column});
        const core::Block again = BlockOf(BytesOf(block)).value();
        ASSERT_EQ(again.rows(), rows);
        ASSERT_EQ(core::ReadRows(again.columns()[0]), sample.rows)
            << core::Name(dtype) << " " << static_cast<int>(layout) << " " << rank;
      }
    }
  }
}

TEST(FrameTest, EveryLayoutComesBackInParts) {
  core::RandomSamples samples(2);
  for (const core::DType dtype : core::kAllDTypes) {
    for (const core::Layout layout : core::kAllLayouts) {
      const core::Sample sample = samples.Sliced(layout, dtype, 2, 5);
      const core::Block block(5, {"field"}, {sample.column});
      const Frame frame = Encode(block, core::HeapPool(), Summed::kHead).value();
      std::vector<core::Buffer> parts;
      for (const core::Buffer& buffer : frame.body()) {
        parts.push_back(
            core::CopyBytes(buffer.data(), buffer.size(), core::HeapPool()).value());
      }
      const core::Buffer head =
          core::CopyBytes(frame.head().data(), std::ssize(frame.head()),
                          core::HeapPool())
              .value();
      const core::Block again = DecodeParts(head, parts).value();
      ASSERT_EQ(core::ReadRows(again.columns()[0]), sample.rows);
      parts.push_back(core::HeapPool().Allocate(64).value());
      EXPECT_THAT(DecodeParts(head, parts), StatusIs(absl::StatusCode::kDataLoss));
    }
  }
}

// Who sends could change them after they were checked.
TEST(FrameTest, OffsetsInPartsAreCopiedAndValuesAreNot) {
  const core::Buffer offsets = core::BufferOf(std::vector<int64_t>{0, 4, 8});
  const core::Buffer texts = core::BufferOf("onlytext", 8);
  const core::Block block(
      2, {"text"},
      {core::Column::FromLevels(core::DType::kString, 2,
                                {core::Level::Variable(offsets)}, texts)
           .value()});
  const Frame frame = Encode(block, core::HeapPool(), Summed::kHead).value();
  const core::Buffer head =
      core::CopyBytes(frame.head().data(), std::ssize(frame.head()), core::HeapPool())
          .value();
  const core::Block again = DecodeParts(head, frame.body()).value();
  const core::Column& column = again.columns()[0];
  EXPECT_EQ(column.values().data(), frame.body()[1].data());
  EXPECT_NE(column.levels()[0].offsets.data(), frame.body()[0].data());
}

TEST(FrameTest, PartsThatAreNotAlignedAreRefused) {
  const Frame frame = Encode(Small(), core::HeapPool(), Summed::kHead).value();
  const core::Buffer head =
      core::CopyBytes(frame.head().data(), std::ssize(frame.head()), core::HeapPool())
          .value();
  std::vector<core::Buffer> parts = frame.body();
  EXPECT_THAT(DecodeParts(head, parts), IsOk());
  parts[0] = core::HeapPool().Allocate(64).value().Slice(4, parts[0].size());
  EXPECT_THAT(DecodeParts(head, parts),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("part")));
}

TEST(FrameTest, IdentitiesComeBackAlsoOfBatches) {
  const std::vector<core::RowId> ids = {{1, 2}, {3, 4}};
  const core::Block block =
      Small().WithIds(core::IdColumn(ids, core::HeapPool()).value());
  EXPECT_TRUE(core::SameRows(BlockOf(BytesOf(block)).value(), block));
  const core::Block batch = block.ToUniform(core::HeapPool()).value().Stack(2);
  const core::Block again = BlockOf(BytesOf(batch)).value();
  EXPECT_TRUE(core::SameRows(again, batch));
  EXPECT_EQ(again.IdAt(0), batch.IdAt(0));
}

TEST(FrameTest, RowsWithoutFieldsComeBack) {
  const core::Block none(3, std::vector<std::string>(), {});
  EXPECT_EQ(BlockOf(BytesOf(none)).value().rows(), 3);
}

TEST(FrameTest, ValuesAreNotCopied) {
  core::Buffer values = core::HeapPool().Allocate(1 << 20).value();
  const core::Block block(
      1 << 20, {"x"}, {core::Column::Dense(core::DType::kUint8, 1 << 20, {}, values)});
  const Frame frame = Encode(block, core::HeapPool()).value();
  bool found = false;
  EXPECT_THAT(frame.ForEachPiece([&](std::string_view piece) {
    found = found || piece.data() == values.text().data();
    return absl::OkStatus();
  }),
              IsOk());
  EXPECT_TRUE(found);

  const std::string bytes = BytesOf(block);
  const core::Buffer read =
      core::CopyBytes(bytes.data(), std::ssize(bytes), core::HeapPool()).value();
  const core::Block decoded = Decode(read).value();
  EXPECT_EQ(decoded.columns()[0].values().storage(), read.storage());
}

TEST(FrameTest, OfASliceOnlyItsOwnBytesAreWritten) {
  const std::vector<std::string> texts(1000, std::string(1000, 'a'));
  const core::Tensor all = core::Tensor::FromTexts(texts, {1000}, core::DType::kBytes);
  const core::Column column =
      core::Column::Texts(core::DType::kBytes, 1000, all.offsets(), all.values());
  const core::Block slice(2, {"x"}, {column.Slice(500, 2)});
  EXPECT_LT(BytesOf(slice).size(), 3000);
}

TEST(FrameTest, TheFirstBytesTellTheSize) {
  const std::string bytes = BytesOf(Small());
  const FrameSize size =
      ReadSize(std::string_view(bytes).substr(0, kPreambleBytes)).value();
  EXPECT_EQ(size.bytes, std::ssize(bytes));
  EXPECT_EQ(size.rows, 2);
}

TEST(FrameTest, EveryChangedByteIsFound) {
  const std::string bytes = BytesOf(Small());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    const absl::StatusOr<core::Block> block = BlockOf(damaged);
    if (block.ok()) {  // Padding of the head means nothing.
      EXPECT_TRUE(core::SameRows(*block, Small()));
      EXPECT_EQ(bytes[i], 0);
    } else {
      EXPECT_THAT(block, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("frame is")));
    }
  }
}

TEST(FrameTest, WhatIsCutOffIsFound) {
  const std::string bytes = BytesOf(Small());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(BlockOf(std::string_view(bytes).substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("frame is damaged")));
  }
}

}  // namespace
}  // namespace millrace::frames
