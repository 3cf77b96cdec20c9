#include "millrace/ir/attachment.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::AllOf;
using testing::HasSubstr;

template <typename T>
Tensor Array(const std::vector<T>& values, const Shape& shape) {
  return Tensor::FromValues<T>(values, shape);
}

absl::StatusOr<Tensor> Decoded(std::string_view content) {
  return DecodeTensor(Attachment(std::string(content)));
}

// Eight bytes, as lengths of texts are written.
std::string Length(uint64_t length) {
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes;
}

TEST(AttachmentTest, IsNamedByItsContent) {
  const Attachment a("abc");
  EXPECT_EQ(a.content(), "abc");
  EXPECT_EQ(a.hash(), base::Sha256Of("abc"));
  EXPECT_EQ(a, Attachment("abc"));
  EXPECT_FALSE(a == Attachment("abd"));
}

TEST(AttachmentTest, CopiesShareTheContent) {
  const Attachment a(std::string(1000, 'x'));
  const Attachment b = a;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(a.content().data(), b.content().data());
}

TEST(AttachmentTest, ASetHoldsEachContentOnce) {
  Attachments all;
  all.Add(Attachment("a"));
  all.Add(Attachment("b"));
  all.Add(Attachment("a"));
  EXPECT_EQ(all.all().size(), 2);
  EXPECT_THAT(all.Find(base::Sha256Of("b")), IsOkAndHolds(Attachment("b")));
}

TEST(AttachmentTest, WhatIsMissingIsNamed) {
  const base::Sha256 hash = base::Sha256Of("c");
  EXPECT_THAT(Attachments().Find(hash),
              StatusIs(absl::StatusCode::kNotFound,
                       base::StrCat("attachment is missing: @", base::ToHex(hash))));
}

TEST(AttachmentTest, AnArrayIsWrittenAsHeaderAndBytes) {
  const Tensor array = Array<uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(EncodeTensor(array).content(), "uint8 2 3\n\x01\x02\x03\x04\x05\x06");
  EXPECT_EQ(EncodeTensor(Tensor::Text("ab", DType::kBytes)).content(),
            "bytes\n" + Length(2) + "ab");
}

TEST(AttachmentTest, EveryFixedTypeComesBack) {
  for (const DType dtype : core::kAllDTypes) {
    if (core::IsVariable(dtype)) continue;
    const std::string bytes(6 * core::SizeOf(dtype), '\1');
    const auto size = static_cast<int64_t>(bytes.size());
    const auto values = core::CopyBytes(bytes.data(), size, core::HeapPool());
    ASSERT_THAT(values, IsOk());
    const Tensor array = Tensor::Fixed(dtype, {2, 3}, *values);
    EXPECT_THAT(DecodeTensor(EncodeTensor(array)), IsOkAndHolds(array)) << dtype;
  }
}

TEST(AttachmentTest, OddBitsComeBack) {
  const double nan = std::numeric_limits<double>::signaling_NaN();
  const Tensor array =
      Array<double>({nan, -nan, -0.0, std::numeric_limits<double>::infinity()}, {4});
  EXPECT_THAT(DecodeTensor(EncodeTensor(array)), IsOkAndHolds(array));
}

TEST(AttachmentTest, TextsOfAllBytesComeBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::vector<std::string> texts = {"", "a\nb", all, "", "last", "\n"};
  for (const DType dtype : {DType::kBytes, DType::kString}) {
    const Tensor array = Tensor::FromTexts(texts, {3, 2}, dtype);
    EXPECT_THAT(DecodeTensor(EncodeTensor(array)), IsOkAndHolds(array));
  }
}

TEST(AttachmentTest, ScalarsAndEmptyArraysComeBack) {
  for (const Tensor& tensor :
       {Tensor::Scalar(int64_t{7}), Tensor::Text(""), Array<float>({}, {0}),
        Array<float>({}, {3, 0, 2}), Tensor::FromTexts({}, {0}, DType::kBytes)}) {
    EXPECT_THAT(DecodeTensor(EncodeTensor(tensor)), IsOkAndHolds(tensor));
  }
}

TEST(AttachmentTest, EqualArraysHaveOneName) {
  const Tensor array = Array<int32_t>({0, 1, 2, 3}, {2, 2});
  const Tensor part = Array<int32_t>({9, 9, 0, 1, 2, 3}, {3, 2});
  EXPECT_EQ(EncodeTensor(array), EncodeTensor(Array<int32_t>({0, 1, 2, 3}, {2, 2})));
  EXPECT_FALSE(EncodeTensor(array) == EncodeTensor(Array<int32_t>({0, 1, 2, 3}, {4})));
  EXPECT_EQ(EncodeTensor(part.Part(1)), EncodeTensor(Array<int32_t>({0, 1}, {2})));
}

TEST(AttachmentTest, APartOfTextsIsWrittenAlone) {
  const Tensor texts = Tensor::FromTexts({"a", "bb", "ccc", "d"}, {2, 2});
  EXPECT_EQ(EncodeTensor(texts.Part(1)),
            EncodeTensor(Tensor::FromTexts({"ccc", "d"}, {2})));
}

TEST(AttachmentTest, WhatHasNoHeaderIsNoArray) {
  for (const std::string& content :
       {std::string(), std::string("float32 2"), std::string(5000, ' ') + "\n"}) {
    EXPECT_THAT(Decoded(content),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "attachment is not an array: it has no header"));
  }
}

TEST(AttachmentTest, HeadersAreReadAsTheyAreWritten) {
  for (const std::string_view header :
       {"", "float31", "FLOAT32", " float32", "float32 ", "float32  2", "float32 -1",
        "float32 x", "float32 2.0", "float32 99999999999999999999", "f32 1",
        "float32 01", "float32 +1", "float32 \t1", "float32 1\r"}) {
    EXPECT_THAT(Decoded(base::StrCat(header, "\n", "1234")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("attachment is not an array")))
        << header;
  }
}

TEST(AttachmentTest, BytesMustBeAsManyAsTheHeaderSays) {
  EXPECT_THAT(Decoded("float32 2\n1234567"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("7 bytes of values, not 8")));
  EXPECT_THAT(Decoded("float32 2\n123456789"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("9 bytes")));
  EXPECT_THAT(Decoded("float32 0\n"), IsOk());
}

TEST(AttachmentTest, TheTypeIsReadWithoutTheValues) {
  const auto type = [](std::string_view content) {
    return DecodeTensorType(Attachment(std::string(content)));
  };
  const auto read = type("float32 2 3\nnot the values");
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->dtype, core::DType::kFloat32);
  EXPECT_EQ(read->shape, core::Shape({2, 3}));
  EXPECT_THAT(type("string\n"), IsOk());
  for (const char* wrong : {"", "float32 2", "floaty 2\n", "float32  2\n",
                            "float32 -2\n", "float32 02\n"}) {
    EXPECT_THAT(type(wrong), StatusIs(absl::StatusCode::kInvalidArgument)) << wrong;
  }
}

TEST(AttachmentTest, ABoolIsZeroOrOne) {
  EXPECT_THAT(Decoded(std::string_view("bool 2\n\0\1", 9)), IsOk());
  EXPECT_THAT(Decoded("bool 2\n\1\2"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bool")));
}

TEST(AttachmentTest, AbsurdShapesAreRefusedBeforeMemoryIsTaken) {
  EXPECT_THAT(Decoded("uint8 1000000000 1000000000\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too large")));
  EXPECT_THAT(Decoded("uint8 9223372036854775807 9223372036854775807\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too large")));
  EXPECT_THAT(Decoded("float64 281474976710656\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 bytes")));
  EXPECT_THAT(Decoded("string 281474976710656\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lengths")));
  std::string header = "uint8";
  for (int i = 0; i < 33; ++i) header += " 1";
  EXPECT_THAT(Decoded(header + "\nx"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too many axes")));
}

TEST(AttachmentTest, LengthsOfTextsAreChecked) {
  EXPECT_THAT(Decoded("string 2\n" + Length(1) + Length(2) + "abc"),
              IsOkAndHolds(Tensor::FromTexts({"a", "bc"}, {2})));
  EXPECT_THAT(Decoded("string 2\n" + Length(1) + "abc"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lengths")));
  EXPECT_THAT(Decoded("string 2\n" + Length(1) + Length(3) + "abc"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cut off")));
  EXPECT_THAT(Decoded("string 2\n" + Length(1) + Length(1) + "abc"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("left over")));
  EXPECT_THAT(Decoded("string 2\n" + Length(~uint64_t{0}) + Length(1) + "abc"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cut off")));
}

}  // namespace
}  // namespace millrace::ir
