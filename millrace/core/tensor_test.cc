#include "millrace/core/tensor.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"

namespace millrace::core {
namespace {

using base::StatusIs;
using testing::ElementsAre;
using testing::EndsWith;

template <typename T>
std::string Print(T value) {
  return PrintValue(kDTypeOf<T>, reinterpret_cast<const std::byte*>(&value));
}

template <typename T>
T Read(const std::string& text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

TEST(TensorTest, TheDefaultHasNoValues) {
  const Tensor tensor;
  EXPECT_EQ(tensor.dtype(), DType::kBool);
  EXPECT_EQ(tensor.shape(), (Shape{0}));
  EXPECT_EQ(tensor.count(), 0);
  EXPECT_EQ(tensor.content_bytes(), 0);
  EXPECT_EQ(tensor, Tensor());
}

TEST(TensorTest, HoldsValuesOfEveryFixedType) {
  for (const DType dtype : kAllDTypes) {
    if (IsVariable(dtype)) continue;
    VisitDType(dtype, [&]<typename T>() {
      const std::vector<std::byte> zeros(6 * sizeof(T));
      const Tensor tensor = Tensor::Fixed(dtype, {2, 3}, BufferOf(zeros));
      EXPECT_EQ(tensor.dtype(), dtype);
      EXPECT_EQ(tensor.count(), 6);
      EXPECT_EQ(tensor.As<T>().size(), 6U);
      EXPECT_EQ(tensor.content_bytes(), 6 * SizeOf(dtype));
    });
  }
}

TEST(TensorTest, CopiesTheValuesItIsMadeFrom) {
  std::vector<float> values = {1, 2, 3};
  const Tensor tensor = Tensor::FromValues<float>(values, {3});
  values[0] = 9;
  EXPECT_THAT(tensor.As<float>(), ElementsAre(1, 2, 3));
}

TEST(TensorTest, AScalarHasOneValue) {
  const Tensor tensor = Tensor::Scalar<int16_t>(-7);
  EXPECT_EQ(tensor.dtype(), DType::kInt16);
  EXPECT_TRUE(tensor.shape().is_scalar());
  EXPECT_THAT(tensor.As<int16_t>(), ElementsAre(-7));
  EXPECT_THAT(Tensor::Scalar(true).As<bool>(), ElementsAre(true));
  EXPECT_THAT(Tensor::Scalar(false).As<bool>(), ElementsAre(false));
}

TEST(TensorTest, HoldsTextsOfAnyBytes) {
  const std::vector<std::string> texts = {"a", "", std::string("\0\xff", 2), "tail"};
  const Tensor tensor = Tensor::FromTexts(texts, {2, 2}, DType::kBytes);
  EXPECT_EQ(tensor.dtype(), DType::kBytes);
  EXPECT_EQ(tensor.count(), 4);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tensor.TextAt(static_cast<int64_t>(i)), texts[i]);
  }
  EXPECT_EQ(tensor.content_bytes(), 7);
}

TEST(TensorTest, OneTextIsAScalar) {
  const Tensor tensor = Tensor::Text("millrace");
  EXPECT_EQ(tensor.dtype(), DType::kString);
  EXPECT_TRUE(tensor.shape().is_scalar());
  EXPECT_EQ(tensor.TextAt(0), "millrace");
  EXPECT_EQ(Tensor::Text("", DType::kBytes).TextAt(0), "");
}

TEST(TensorTest, ContentOfTextsIsWhatTheOffsetsCover) {
  const Buffer data = BufferOf("0123456789", 10);
  const Tensor tensor =
      Tensor::Texts(DType::kString, {2}, BufferOf<int64_t>({3, 5, 9}), data);
  EXPECT_EQ(tensor.TextAt(0), "34");
  EXPECT_EQ(tensor.TextAt(1), "5678");
  EXPECT_EQ(tensor.content_bytes(), 6);
}

TEST(TensorTest, SharesTheBufferItIsGiven) {
  const Buffer values = BufferOf<int64_t>({1, 2, 3});
  const Tensor tensor = Tensor::Fixed(DType::kInt64, {3}, values);
  EXPECT_EQ(tensor.values().data(), values.data());
}

TEST(TensorTest, APartSharesMemoryAndHasOneAxisLess) {
  const std::vector<int32_t> values = {1, 2, 3, 4, 5, 6};
  const Tensor tensor = Tensor::FromValues<int32_t>(values, {3, 2});
  const Tensor part = tensor.Part(1);
  EXPECT_EQ(part.shape(), (Shape{2}));
  EXPECT_THAT(part.As<int32_t>(), ElementsAre(3, 4));
  EXPECT_EQ(part.values().data(), tensor.values().data() + 8);
  EXPECT_THAT(part.Part(1).As<int32_t>(), ElementsAre(4));
}

TEST(TensorTest, PartsOfAnyTensorAreItsRows) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const DType dtype = random.AnyDType();
    const Sample sample = random.Of(Layout::kTensors, dtype, 2, 3);
    for (const Tensor& tensor : sample.column.tensors()) {
      const Plain whole = ReadTensor(tensor);
      for (int64_t i = 0; i < tensor.shape()[0]; ++i) {
        EXPECT_EQ(ReadTensor(tensor.Part(i)), whole.list[i]);
      }
    }
  }
}

TEST(TensorTest, EqualTensorsHaveTheSameTypeShapeAndBits) {
  const std::vector<float> values = {1, 2, 3, 4};
  const Tensor tensor = Tensor::FromValues<float>(values, {2, 2});
  EXPECT_EQ(tensor, Tensor::FromValues<float>(values, {2, 2}));
  EXPECT_FALSE(tensor == Tensor::FromValues<float>(values, {4}));
  EXPECT_FALSE(Tensor::Scalar(1.0F) == Tensor::Scalar(1.0));
  EXPECT_FALSE(Tensor::Scalar(1.0F) == Tensor::Scalar(2.0F));
  EXPECT_FALSE(Tensor::Scalar(0.0F) == Tensor::Scalar(-0.0F));
  EXPECT_EQ(Tensor::Scalar(std::nanf("")), Tensor::Scalar(std::nanf("")));
}

TEST(TensorTest, EqualTextsAreEqualWhereverTheyLie) {
  const Tensor tensor = Tensor::FromTexts({"ab", "c"}, {2});
  EXPECT_EQ(tensor, Tensor::Texts(DType::kString, {2}, BufferOf<int64_t>({1, 3, 4}),
                                  BufferOf("xabcx", 5)));
  EXPECT_FALSE(tensor == Tensor::FromTexts({"a", "bc"}, {2}));
  EXPECT_FALSE(tensor == Tensor::FromTexts({"ab", "c"}, {2}, DType::kBytes));
}

TEST(TensorTest, PrintsTypeShapeAndTheFirstValues) {
  EXPECT_EQ(Tensor::FromValues<uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3}).ToString(),
            "uint8[2, 3] [1, 2, 3, 4, 5, 6]");
  EXPECT_EQ(Tensor::Scalar(2.5F).ToString(), "float32 2.5");
  EXPECT_EQ(Tensor::Scalar(false).ToString(), "bool false");
  EXPECT_EQ(Tensor().ToString(), "bool[0] []");
  EXPECT_EQ(Tensor::FromValues<int64_t>(std::vector<int64_t>(9, 1), {9}).ToString(),
            "int64[9] [1, 1, 1, 1, 1, 1, 1, 1, ...]");
}

TEST(TensorTest, PrintsTextsQuotedAndShortened) {
  EXPECT_EQ(Tensor::Text("say \"hi\"\n").ToString(), "string \"say \\\"hi\\\"\\n\"");
  EXPECT_EQ(Tensor::Text("\xff", DType::kBytes).ToString(), "bytes \"\\xff\"");
  const std::string shown = Tensor::Text(std::string(1'000'000, 'x')).ToString();
  EXPECT_LT(shown.size(), 100U);
  EXPECT_THAT(shown, EndsWith("x\"..."));
}

TEST(TensorTest, PrintsTheShortestDigitsThatReadBack) {
  EXPECT_EQ(Print(0.1), "0.1");
  EXPECT_EQ(Print(0.1F), "0.1");
  EXPECT_EQ(Print(Float16(0.1F)), "0.1");
  EXPECT_EQ(Print(BFloat16(0.1F)), "0.1");
  EXPECT_EQ(Print(1.0), "1.0");
  EXPECT_EQ(Print(-0.0F), "-0.0");
  EXPECT_EQ(Print(1e300), "1e+300");
  EXPECT_EQ(Print(Float16(65504)), "65500.0");
  EXPECT_EQ(Print(BFloat16(1000)), "1000.0");
  EXPECT_EQ(Print<int8_t>(-128), "-128");
  EXPECT_EQ(Print<uint8_t>(65), "65");
  EXPECT_EQ(Print(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
}

TEST(TensorTest, PrintsWhatIsNoNumber) {
  EXPECT_EQ(Print(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(Print(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(Print(std::nan("")), "nan");
  EXPECT_EQ(Print(Float16(std::nanf(""))), "nan");
  EXPECT_EQ(Print(BFloat16(-std::numeric_limits<float>::infinity())), "-inf");
}

TEST(TensorTest, EverySixteenBitFloatReadsBackFromItsText) {
  for (uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    Float16 half;
    half.bits = static_cast<uint16_t>(bits);
    BFloat16 brain;
    brain.bits = static_cast<uint16_t>(bits);
    if (std::isfinite(static_cast<float>(half))) {
      ASSERT_EQ(Float16(Read<float>(Print(half))).bits, bits) << Print(half);
      ASSERT_LE(Print(half).size(), 11U) << Print(half);
    }
    if (std::isfinite(static_cast<float>(brain))) {
      ASSERT_EQ(BFloat16(Read<float>(Print(brain))).bits, bits) << Print(brain);
    }
  }
}

TEST(TensorTest, CopyBytesTakesItsMemoryFromThePool) {
  Pool pool(MakeHeapAllocator(), {.budget_bytes = 128});
  const Buffer copy = CopyBytes("abc", 3, pool).value();
  EXPECT_EQ(copy.text(), "abc");
  EXPECT_EQ(pool.stats().used_bytes, 64);
  EXPECT_EQ(CopyBytes(nullptr, 0, pool).value().size(), 0);
  EXPECT_THAT(CopyBytes("abc", 200, pool),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(TensorTest, BuffersThatDoNotFitAreProgrammingErrors) {
  const Buffer four = BufferOf<int32_t>({1, 2, 3, 4});
  EXPECT_DEATH(Tensor::Fixed(DType::kInt32, {3}, four), "values.size");
  EXPECT_DEATH(Tensor::Fixed(DType::kString, {4}, four), "IsVariable");
  EXPECT_DEATH(Tensor::FromValues<int32_t>({1, 2}, {3}), "values.size");
  EXPECT_DEATH(Tensor::FromTexts({"a"}, {2}), "texts.size");
  const Buffer offsets = BufferOf<int64_t>({0, 20});
  EXPECT_DEATH(Tensor::Texts(DType::kString, {}, offsets, four), "data.size");
  EXPECT_DEATH(Tensor::Texts(DType::kString, {2}, offsets, four), "offsets.size");
  EXPECT_DEATH(Tensor::Texts(DType::kInt8, {}, offsets, four), "IsVariable");
}

TEST(TensorTest, ReadingWhatIsNotThereIsAProgrammingError) {
  const Tensor tensor = Tensor::FromTexts({"a", "b"}, {2});
  EXPECT_DEATH((void)tensor.TextAt(2), "index");
  EXPECT_DEATH((void)tensor.TextAt(-1), "index");
  EXPECT_DEATH((void)tensor.As<int8_t>(), "dtype_");
  EXPECT_DEATH((void)tensor.Part(2), "index");
  EXPECT_DEATH((void)Tensor::Scalar(1).Part(0), "rank");
  EXPECT_DEATH((void)Tensor::Scalar(1).As<float>(), "dtype_");
}

}  // namespace
}  // namespace millrace::core
