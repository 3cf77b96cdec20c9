// Frames that nobody wrote: what a header says is wrong in one way each, and the
// checksums fit, so that only the decoder's own checks stand before harm.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/frames/frame.h"
#include "millrace/frames/layout.h"

namespace millrace::frames {
namespace {

using base::IsOk;
using base::StatusIs;
using core::DType;
using testing::HasSubstr;

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kLevels = 0;
constexpr uint64_t kTensors = 1;

// Writes headers and bodies by hand.
class Hostile {
 public:
  explicit Hostile(int64_t rows) : rows_(rows) {}

  Hostile& Number(uint64_t number) {
    codec::PutVarint(number, header_);
    return *this;
  }

  Hostile& Text(std::string_view text) {
    codec::PutText(text, header_);
    return *this;
  }

  // A buffer, and how long the header says that it is.
  template <typename T>
  Hostile& Buffer(const std::vector<T>& values) {
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                                 values.size() * sizeof(T));
    body_ += bytes;
    body_.resize(PaddedBytes(std::ssize(body_)));
    return Number(bytes.size());
  }

  // One field `x`: up to the levels.
  Hostile& Field(DType dtype, uint64_t kind, uint64_t levels) {
    return Number(1)
        .Text("x")
        .Number(static_cast<uint64_t>(dtype))
        .Number(kind)
        .Number(levels);
  }

  // The end: there are no identities.
  Hostile& End() { return Number(0); }

  // Bytes of the body that nothing speaks of.
  Hostile& Lost(int64_t bytes) {
    body_.resize(body_.size() + bytes);
    return *this;
  }

  absl::StatusOr<core::Block> Decoded() const {
    const Preamble preamble = {.header_bytes = std::ssize(header_),
                               .body_bytes = std::ssize(body_),
                               .rows = rows_,
                               .header_crc = codec::Crc32c(header_),
                               .body_crc = codec::Crc32c(body_)};
    std::string bytes = WritePreamble(preamble) + header_;
    bytes.resize(preamble.head_bytes());
    bytes += body_;
    return Decode(core::BufferOf(bytes.data(), std::ssize(bytes)));
  }

 private:
  const int64_t rows_;
  std::string header_;
  std::string body_;
};

const auto kDamaged = StatusIs(absl::StatusCode::kDataLoss, HasSubstr("frame is"));

std::vector<int64_t> Numbers(int64_t count) { return std::vector<int64_t>(count, 1); }

TEST(DecodeTest, WhatIsWrittenByHandIsRead) {
  const absl::StatusOr<core::Block> block = Hostile(2)
                                                .Field(DType::kInt64, kLevels, 0)
                                                .Buffer<int64_t>({5, 6})
                                                .End()
                                                .Decoded();
  ASSERT_THAT(block, IsOk());
  EXPECT_EQ(block->Find("x")->As<int64_t>()[1], 6);
  EXPECT_FALSE(block->has_ids());
}

TEST(DecodeTest, AFrameOfNothingIsABlock) {
  EXPECT_EQ(Hostile(0).Number(0).End().Decoded()->rows(), 0);
  EXPECT_EQ(Hostile(9).Number(0).End().Decoded()->rows(), 9);
}

TEST(DecodeTest, TooManyFieldsAreRefused) {
  EXPECT_THAT(Hostile(0).Number(kFieldsMax + 1).End().Decoded(), kDamaged);
  EXPECT_THAT(Hostile(0).Number(kHuge).End().Decoded(), kDamaged);
  EXPECT_THAT(Hostile(0).Number(kFieldsMax).End().Decoded(), kDamaged);  // None follow.
}

TEST(DecodeTest, FieldsHaveNamesThatFieldsCanHave) {
  const auto named = [](std::string_view name) {
    return Hostile(1)
        .Number(1)
        .Text(name)
        .Number(0)
        .Number(kLevels)
        .Number(0)
        .Buffer(std::vector<int8_t>(core::SizeOf(core::kAllDTypes[0])))
        .End()
        .Decoded();
  };
  EXPECT_THAT(named("fine"), IsOk());
  EXPECT_THAT(named(""), kDamaged);
  EXPECT_THAT(named(".x"), kDamaged);
  EXPECT_THAT(named("x."), kDamaged);
  EXPECT_THAT(named("a..b"), kDamaged);
  EXPECT_THAT(named(std::string(1 << 20, 'x')), kDamaged);
}

TEST(DecodeTest, ANameThatComesTwiceIsRefused) {
  Hostile twice(1);
  twice.Number(2);
  for (int i = 0; i < 2; ++i) {
    twice.Text("x").Number(static_cast<uint64_t>(DType::kInt64)).Number(kLevels);
    twice.Number(0).Buffer(Numbers(1));
  }
  EXPECT_THAT(twice.End().Decoded(), kDamaged);
}

TEST(DecodeTest, ATextThatIsLongerThanTheHeaderIsRefused) {
  EXPECT_THAT(Hostile(1).Number(1).Number(kHuge).Decoded(), kDamaged);
  EXPECT_THAT(Hostile(1).Number(1).Number(50).Decoded(), kDamaged);
}

TEST(DecodeTest, TypesAndKindsThatAreNoneAreRefused) {
  const auto types = static_cast<uint64_t>(std::ssize(core::kAllDTypes));
  for (const uint64_t type : {types, types + 1, kHuge}) {
    EXPECT_THAT(
        Hostile(1).Number(1).Text("x").Number(type).Number(0).Number(0).Decoded(),
        kDamaged);
  }
  EXPECT_THAT(Hostile(1).Field(DType::kInt64, 2, 0).Buffer(Numbers(1)).End().Decoded(),
              kDamaged);
}

TEST(DecodeTest, AnOtherNumberOfValuesThanRowsIsRefused) {
  for (const int64_t values : {0, 1, 3, 100}) {
    EXPECT_THAT(Hostile(2)
                    .Field(DType::kInt64, kLevels, 0)
                    .Buffer(Numbers(values))
                    .End()
                    .Decoded(),
                kDamaged)
        << values;
  }
  // Not even whole ones.
  EXPECT_THAT(Hostile(2)
                  .Field(DType::kInt64, kLevels, 0)
                  .Buffer(std::vector<int8_t>(15))
                  .End()
                  .Decoded(),
              kDamaged);
}

TEST(DecodeTest, MoreRowsThanAnythingHasAreRefused) {
  EXPECT_THAT(Hostile(kFrameBytesMax)
                  .Field(DType::kInt64, kLevels, 0)
                  .Buffer(Numbers(1))
                  .End()
                  .Decoded(),
              kDamaged);
  EXPECT_THAT(Hostile(kFrameBytesMax + 1).Number(0).End().Decoded(), kDamaged);
  EXPECT_THAT(Hostile(-1).Number(0).End().Decoded(), kDamaged);
}

TEST(DecodeTest, TooManyLevelsAreRefused) {
  Hostile deep(1);
  deep.Field(DType::kInt64, kLevels, kLevelsMax + 1);
  for (int64_t i = 0; i <= kLevelsMax; ++i) deep.Number(2);
  EXPECT_THAT(deep.Buffer(Numbers(1)).End().Decoded(), kDamaged);
  EXPECT_THAT(Hostile(1).Field(DType::kInt64, kLevels, kHuge).Decoded(), kDamaged);
}

// The product of such sizes fits no number.
TEST(DecodeTest, SizesThatWrapAreRefused) {
  Hostile wrapping(1);
  wrapping.Field(DType::kInt64, kLevels, 4);
  for (int i = 0; i < 4; ++i) wrapping.Number((uint64_t{1} << 32) + 1);
  EXPECT_THAT(wrapping.Buffer(Numbers(0)).End().Decoded(), kDamaged);
  EXPECT_THAT(Hostile(1)
                  .Field(DType::kInt64, kLevels, 1)
                  .Number(kHuge)
                  .Buffer(Numbers(1))
                  .End()
                  .Decoded(),
              kDamaged);
}

// Lists of numbers in two rows, by their offsets.
absl::StatusOr<core::Block> Listed(const std::vector<int64_t>& offsets,
                                   int64_t values) {
  return Hostile(2)
      .Field(DType::kInt64, kLevels, 1)
      .Number(0)
      .Buffer(offsets)
      .Buffer(Numbers(values))
      .End()
      .Decoded();
}

TEST(DecodeTest, OffsetsAscendFromZeroWithinTheValues) {
  EXPECT_THAT(Listed({0, 1, 3}, 3), IsOk());
  EXPECT_THAT(Listed({0, 0, 0}, 0), IsOk());
  EXPECT_THAT(Listed({1, 2, 3}, 3), kDamaged);
  EXPECT_THAT(Listed({0, 3, 1}, 3), kDamaged);
  EXPECT_THAT(Listed({0, -1, 3}, 3), kDamaged);
  EXPECT_THAT(Listed({0, 1, 4}, 3), kDamaged);
  EXPECT_THAT(Listed({0, 1, std::numeric_limits<int64_t>::max()}, 3), kDamaged);
}

TEST(DecodeTest, OffsetsAreOneMoreThanTheRows) {
  EXPECT_THAT(Listed({}, 0), kDamaged);
  EXPECT_THAT(Listed({0}, 0), kDamaged);
  EXPECT_THAT(Listed({0, 3}, 3), kDamaged);
  EXPECT_THAT(Listed({0, 1, 2, 3}, 3), kDamaged);
}

TEST(DecodeTest, TextsHaveOffsets) {
  EXPECT_THAT(Hostile(1)
                  .Field(DType::kString, kLevels, 0)
                  .Buffer(std::vector<char>{'a'})
                  .End()
                  .Decoded(),
              kDamaged);
  EXPECT_THAT(Hostile(1)
                  .Field(DType::kBytes, kLevels, 1)
                  .Number(0)
                  .Buffer<int64_t>({0, 2})
                  .Buffer(std::vector<char>{'a'})
                  .End()
                  .Decoded(),
              kDamaged);
}

TEST(DecodeTest, BoolsAreZeroOrOne) {
  const auto bools = [](const std::vector<int8_t>& values) {
    return Hostile(2).Field(DType::kBool, kLevels, 0).Buffer(values).End().Decoded();
  };
  EXPECT_THAT(bools({0, 1}), IsOk());
  EXPECT_THAT(bools({0, 2}), kDamaged);
  EXPECT_THAT(bools({-1, 1}), kDamaged);
  EXPECT_THAT(Hostile(1)
                  .Field(DType::kBool, kTensors, 0)
                  .Number(1)
                  .Number(0)
                  .Buffer(std::vector<int8_t>{7})
                  .End()
                  .Decoded(),
              kDamaged);
}

TEST(DecodeTest, BuffersLieWithinTheBody) {
  EXPECT_THAT(Hostile(2).Field(DType::kInt64, kLevels, 0).Number(16).End().Decoded(),
              kDamaged);
  EXPECT_THAT(Hostile(2).Field(DType::kInt64, kLevels, 0).Number(kHuge).End().Decoded(),
              kDamaged);
}

TEST(DecodeTest, NothingIsLeftOver) {
  const auto frame = [] {
    return Hostile(1).Field(DType::kInt64, kLevels, 0).Buffer(Numbers(1)).End();
  };
  EXPECT_THAT(frame().Decoded(), IsOk());
  EXPECT_THAT(frame().Number(0).Decoded(), kDamaged);
  EXPECT_THAT(frame().Lost(kFrameAlignment).Decoded(), kDamaged);
  EXPECT_THAT(frame().Lost(1).Decoded(), kDamaged);  // Nor is it a multiple.
}

TEST(DecodeTest, AHeaderThatEndsTooSoonIsRefused) {
  EXPECT_THAT(Hostile(1).Decoded(), kDamaged);
  EXPECT_THAT(Hostile(1).Number(1).Decoded(), kDamaged);
  EXPECT_THAT(Hostile(1).Field(DType::kInt64, kLevels, 0).Decoded(), kDamaged);
  EXPECT_THAT(Hostile(1).Field(DType::kInt64, kLevels, 0).Buffer(Numbers(1)).Decoded(),
              kDamaged);
}

TEST(DecodeTest, IdentitiesArePairsOfNumbers) {
  const auto with_ids = [](DType dtype, uint64_t levels, uint64_t size) {
    Hostile frame(1);
    frame.Number(0).Number(1).Number(static_cast<uint64_t>(dtype)).Number(kLevels);
    frame.Number(levels);
    if (levels > 0) frame.Number(size + 1);
    return frame.Buffer(Numbers(levels > 0 ? static_cast<int64_t>(size) : 1)).Decoded();
  };
  EXPECT_THAT(with_ids(DType::kUint64, 1, 2), IsOk());
  EXPECT_THAT(with_ids(DType::kInt64, 1, 2), kDamaged);
  EXPECT_THAT(with_ids(DType::kUint64, 1, 3), kDamaged);
  EXPECT_THAT(with_ids(DType::kUint64, 0, 0), kDamaged);
  EXPECT_THAT(Hostile(1).Number(0).Number(2).Decoded(), kDamaged);
}

// One row that is a tensor, of this shape and so many values.
absl::StatusOr<core::Block> OneTensor(const std::vector<uint64_t>& shape,
                                      int64_t values) {
  Hostile frame(1);
  frame.Field(DType::kInt64, kTensors, 0).Number(1).Number(shape.size());
  for (const uint64_t size : shape) frame.Number(size);
  return frame.Buffer(Numbers(values)).End().Decoded();
}

TEST(DecodeTest, TensorsHaveAsManyValuesAsTheirShapes) {
  EXPECT_THAT(OneTensor({}, 1), IsOk());
  EXPECT_THAT(OneTensor({2, 3}, 6), IsOk());
  EXPECT_THAT(OneTensor({0, 3}, 0), IsOk());
  EXPECT_THAT(OneTensor({2, 3}, 5), kDamaged);
  EXPECT_THAT(OneTensor({2, 3}, 7), kDamaged);
  EXPECT_THAT(OneTensor({uint64_t{1} << 32, uint64_t{1} << 32}, 0), kDamaged);
  EXPECT_THAT(OneTensor({uint64_t{1} << 45, 4}, 0), kDamaged);
  EXPECT_THAT(OneTensor({kHuge}, 1), kDamaged);
  EXPECT_THAT(OneTensor(std::vector<uint64_t>(kLevelsMax + 1, 1), 1), kDamaged);
}

TEST(DecodeTest, TensorsAreAsManyAsTheHeaderHasRoomFor) {
  Hostile frame(1);
  frame.Field(DType::kInt64, kTensors, 0).Number(uint64_t{1} << 40);
  EXPECT_THAT(frame.End().Decoded(), kDamaged);
}

// Tensors of one value each, below one level.
absl::StatusOr<core::Block> Nested(int64_t rows, uint64_t size,
                                   const std::vector<int64_t>& offsets, int tensors) {
  Hostile frame(rows);
  frame.Field(DType::kInt64, kTensors, 1);
  frame.Number(size);
  if (size == 0) frame.Buffer(offsets);
  frame.Number(tensors);
  for (int i = 0; i < tensors; ++i) frame.Number(1).Number(1).Buffer(Numbers(1));
  return frame.End().Decoded();
}

TEST(DecodeTest, LevelsAboveTensorsHaveJustAsManyBelow) {
  EXPECT_THAT(Nested(2, 3 + 1, {}, 6), IsOk());
  EXPECT_THAT(Nested(2, 3 + 1, {}, 5), kDamaged);
  EXPECT_THAT(Nested(2, 3 + 1, {}, 7), kDamaged);
  EXPECT_THAT(Nested(2, 0, {0, 1, 3}, 3), IsOk());
  EXPECT_THAT(Nested(2, 0, {0, 0, 0}, 0), IsOk());
  EXPECT_THAT(Nested(2, 0, {0, 1, 3}, 2), kDamaged);
  EXPECT_THAT(Nested(2, 0, {0, 1, 3}, 4), kDamaged);
  EXPECT_THAT(Nested(2, 0, {0, 3, 1}, 3), kDamaged);
  EXPECT_THAT(Nested(2, 0, {0, 1}, 1), kDamaged);
}

TEST(DecodeTest, TensorsWithoutLevelsAreTheRows) {
  Hostile frame(2);
  frame.Field(DType::kInt64, kTensors, 0).Number(1).Number(0).Buffer(Numbers(1));
  EXPECT_THAT(frame.End().Decoded(), kDamaged);
}

TEST(DecodeTest, LevelsAboveTensorsComeBack) {
  core::Tensors tensors;
  for (const int64_t size : {1, 3, 2, 4}) {
    tensors.push_back(core::Tensor::FromValues<int64_t>(Numbers(size), {size}));
  }
  const core::Column flat = core::Column::OfTensors(DType::kInt64, std::move(tensors));
  const core::Column nested =
      flat.Nest(3, {core::Level::Variable(core::BufferOf<int64_t>({0, 2, 2, 4}))});
  const core::Block block(3, {"x"}, {nested});
  for (const auto& [begin, rows] :
       {std::pair<int64_t, int64_t>{0, 3}, {1, 2}, {2, 1}}) {
    const core::Block part = block.Slice(begin, rows);
    std::string bytes;
    ASSERT_THAT(
        Encode(part, core::HeapPool())->ForEachPiece([&](std::string_view piece) {
          bytes += piece;
          return absl::OkStatus();
        }),
        IsOk());
    const absl::StatusOr<core::Block> again =
        Decode(core::BufferOf(bytes.data(), std::ssize(bytes)));
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(core::ReadRows(again->columns()[0]), core::ReadRows(part.columns()[0]));
  }
}

}  // namespace
}  // namespace millrace::frames
