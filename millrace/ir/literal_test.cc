#include "millrace/ir/literal.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/utf8.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/lexer.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::StatusIs;
using core::BFloat16;
using core::DType;
using core::Float16;
using core::Tensor;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
T NumberOf(std::string_view text, bool negative = false) {
  const absl::StatusOr<Literal> literal = ParseNumber(text, negative);
  CHECK(literal.ok()) << literal.status();
  return literal->value.As<T>()[0];
}

// Reads what was printed, as the parser does.
absl::StatusOr<Literal> ReadBack(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::optional<Literal> special = ParseSpecial(text, negative);
  if (special) return *special;
  return ParseNumber(text, negative);
}

TEST(LiteralTest, ANumberWithoutSuffixIsWeak) {
  const auto integer = ParseNumber("12", false);
  ASSERT_THAT(integer, IsOk());
  EXPECT_TRUE(integer->weak);
  EXPECT_EQ(integer->value, Tensor::Scalar(int64_t{12}));
  for (const std::string_view text : {"12.0", "1.2e1", "12e0", "120e-1"}) {
    const auto number = ParseNumber(text, false);
    ASSERT_THAT(number, IsOk());
    EXPECT_TRUE(number->weak);
    EXPECT_EQ(number->value, Tensor::Scalar(12.0)) << text;
  }
}

TEST(LiteralTest, ASuffixGivesTheType) {
  EXPECT_EQ(NumberOf<uint8_t>("255u8"), 255);
  EXPECT_EQ(NumberOf<int8_t>("128i8", true), -128);
  EXPECT_EQ(NumberOf<uint64_t>("18446744073709551615u64"), UINT64_MAX);
  EXPECT_EQ(NumberOf<int64_t>("9223372036854775808i64", true), INT64_MIN);
  EXPECT_EQ(NumberOf<float>("1e-3f32"), 1e-3F);
  EXPECT_EQ(NumberOf<double>("3f64"), 3.0);
  EXPECT_EQ(static_cast<float>(NumberOf<Float16>("65504f16")), 65504);
  EXPECT_EQ(static_cast<float>(NumberOf<BFloat16>("1.5bf16", true)), -1.5);
  EXPECT_FALSE(ParseNumber("1u8", false)->weak);
}

TEST(LiteralTest, SignsArePartOfTheNumber) {
  EXPECT_EQ(NumberOf<int64_t>("9223372036854775808", true), INT64_MIN);
  EXPECT_EQ(std::bit_cast<uint64_t>(NumberOf<double>("0.0", true)),
            std::bit_cast<uint64_t>(-0.0));
  EXPECT_EQ(NumberOf<int64_t>("0", true), 0);
}

TEST(LiteralTest, NumbersThatDoNotFitAreRefused) {
  for (const std::string_view text :
       {"9223372036854775808", "256u8", "128i8", "65536u16", "1e39f32", "1e999",
        "1e-999", "65520f16", "1e10f16", "3.4e38bf16", "99999999999999999999u64"}) {
    EXPECT_THAT(ParseNumber(text, false),
                StatusIs(kWrong, AllOf(HasSubstr("does not fit"), HasSubstr(text))))
        << text;
  }
  EXPECT_THAT(ParseNumber("129i8", true),
              StatusIs(kWrong, HasSubstr("does not fit int8")));
}

TEST(LiteralTest, WhatIsNoNumberOfItsTypeIsRefused) {
  EXPECT_THAT(ParseNumber("1.5u8", false), StatusIs(kWrong, HasSubstr("is not uint8")));
  EXPECT_THAT(ParseNumber("1e2i32", false),
              StatusIs(kWrong, HasSubstr("is not int32")));
  EXPECT_THAT(ParseNumber("1u8", true),
              StatusIs(kWrong, HasSubstr("-1u8 does not fit uint8")));
  EXPECT_THAT(ParseNumber("1ee5", false),
              StatusIs(kWrong, HasSubstr("is not float64")));
}

TEST(LiteralTest, UnknownSuffixesAreNamed) {
  for (const std::string_view text : {"1x", "0x10", "1e", "1E5", "1_000", "1uint8",
                                      "1string", "1bool", "1f8", "1F32"}) {
    EXPECT_THAT(ParseNumber(text, false), StatusIs(kWrong, HasSubstr("unknown suffix")))
        << text;
  }
  EXPECT_THAT(ParseNumber("1" + std::string(100'000, 'x'), false),
              StatusIs(kWrong, testing::SizeIs(testing::Lt(250))));
}

TEST(LiteralTest, ReadsInfinityAndNan) {
  EXPECT_EQ(ParseSpecial("inf", false)->value, Tensor::Scalar(kInfinity));
  EXPECT_EQ(ParseSpecial("inf", true)->value, Tensor::Scalar(-kInfinity));
  EXPECT_TRUE(ParseSpecial("inf", false)->weak);
  EXPECT_EQ(ParseSpecial("inff16", true)->value, Tensor::Scalar(Float16(-kInfinity)));
  EXPECT_TRUE(std::isnan(ParseSpecial("nanf32", false)->value.As<float>()[0]));
  EXPECT_FALSE(ParseSpecial("nanf32", false)->weak);
  EXPECT_EQ(ParseSpecial("nan", true)->value, ParseSpecial("nan", false)->value);
}

TEST(LiteralTest, OtherWordsAreNotSpecial) {
  for (const std::string_view word :
       {"", "n", "in", "info", "nano", "nani8", "infu8", "inffloat32", "nanbool", "Inf",
        "NaN", "infinity"}) {
    EXPECT_FALSE(ParseSpecial(word, false)) << word;
  }
}

TEST(LiteralTest, PrintsTypedScalarsWithTheirSuffix) {
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(int64_t{5}), true), "5");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(int64_t{5}), false), "5i64");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(5.0), true), "5.0");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(5.0), false), "5.0f64");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(uint8_t{255}), false), "255u8");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(-0.1F), false), "-0.1f32");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(Float16(0.1F)), false), "0.1f16");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(BFloat16(3e38F)), false), "3e+38bf16");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(true), false), "true");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(-kInfinity), true), "-inf");
  EXPECT_EQ(PrintLiteral(Tensor::Scalar(Float16(NAN)), false), "nanf16");
  EXPECT_EQ(PrintLiteral(Tensor::Text("a\n\""), false), R"("a\n\"")");
  EXPECT_EQ(PrintLiteral(Tensor::Text("a", DType::kBytes), false), "b\"a\"");
}

TEST(LiteralTest, PrintsArraysAsTypedLists) {
  EXPECT_EQ(PrintLiteral(Tensor::FromValues<float>({1, 2, 3, 4}, {2, 2}), false),
            "float32[[1.0, 2.0], [3.0, 4.0]]");
  EXPECT_EQ(PrintLiteral(Tensor::FromValues<int8_t>({-1}, {1, 1, 1}), false),
            "int8[[[-1]]]");
  EXPECT_EQ(PrintLiteral(Tensor::FromTexts({"a", "b\xff"}, {2}, DType::kBytes), false),
            R"(bytes[b"a", b"b\xff"])");
  const bool flags[] = {true, false};
  EXPECT_EQ(PrintLiteral(Tensor::FromValues<bool>(flags, {2}), false),
            "bool[true, false]");
}

template <typename T>
void ExpectAllBitsComeBack() {
  for (int bits = 0; bits < 65536; ++bits) {
    T value;
    value.bits = static_cast<uint16_t>(bits);
    if (std::isnan(static_cast<float>(value))) continue;
    const std::string text = PrintLiteral(Tensor::Scalar(value), false);
    const auto read = ReadBack(text);
    ASSERT_THAT(read, IsOk()) << text;
    ASSERT_EQ(read->value.As<T>()[0].bits, value.bits) << text;
    ASSERT_FALSE(read->weak);
  }
}

TEST(LiteralTest, EverySixteenBitFloatComesBack) {
  ExpectAllBitsComeBack<Float16>();
  ExpectAllBitsComeBack<BFloat16>();
}

TEST(LiteralTest, RandomNumbersComeBack) {
  base::Generator generator(base::RandomKey(1, 2, 3), {});
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t bits = generator.Next64();
    const auto wide = std::bit_cast<double>(bits);
    const auto narrow = std::bit_cast<float>(static_cast<uint32_t>(bits >> 32));
    for (const bool weak : {false, true}) {
      if (!std::isnan(wide)) {
        const auto read = ReadBack(PrintLiteral(Tensor::Scalar(wide), weak));
        ASSERT_THAT(read, IsOk());
        ASSERT_EQ(read->value, Tensor::Scalar(wide));
        ASSERT_EQ(read->weak, weak);
      }
      const auto integer = static_cast<int64_t>(bits);
      ASSERT_EQ(ReadBack(PrintLiteral(Tensor::Scalar(integer), weak))->value,
                Tensor::Scalar(integer));
    }
    if (!std::isnan(narrow)) {
      ASSERT_EQ(ReadBack(PrintLiteral(Tensor::Scalar(narrow), false))->value,
                Tensor::Scalar(narrow));
    }
    ASSERT_EQ(ReadBack(PrintLiteral(Tensor::Scalar(bits), false))->value,
              Tensor::Scalar(bits));
  }
}

TEST(LiteralTest, EveryScalarFitsButALongText) {
  EXPECT_TRUE(FitsInText(Tensor::Scalar(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(FitsInText(Tensor::Scalar(UINT64_MAX)));
  EXPECT_TRUE(FitsInText(Tensor::Text("")));
  EXPECT_TRUE(FitsInText(Tensor::Text(std::string(1024, 'x'))));
  EXPECT_FALSE(FitsInText(Tensor::Text(std::string(1025, 'x'))));
}

TEST(LiteralTest, SmallArraysFit) {
  const std::vector<float> values(40, 0.5F);
  const auto fits = [&](int64_t count) {
    return FitsInText(Tensor::FromValues<float>(
        absl::MakeConstSpan(values).subspan(0, count), {count}));
  };
  EXPECT_FALSE(fits(0));
  EXPECT_TRUE(fits(1));
  EXPECT_TRUE(fits(32));
  EXPECT_FALSE(fits(33));
  const std::vector<std::string> long_texts = {std::string(600, 'a'),
                                               std::string(600, 'b')};
  EXPECT_FALSE(FitsInText(Tensor::FromTexts(long_texts, {2})));
}

TEST(LiteralTest, DeepArraysDoNotFit) {
  EXPECT_TRUE(FitsInText(Tensor::FromValues<float>({1}, {1, 1, 1, 1, 1, 1, 1, 1})));
  EXPECT_FALSE(FitsInText(Tensor::FromValues<float>({1}, {1, 1, 1, 1, 1, 1, 1, 1, 1})));
}

TEST(LiteralTest, ArraysWhoseItemsWouldChangeDoNotFit) {
  EXPECT_FALSE(FitsInText(Tensor::FromValues<float>({1, NAN}, {2})));
  EXPECT_FALSE(FitsInText(Tensor::FromValues<Float16>({Float16(NAN)}, {1})));
  EXPECT_TRUE(FitsInText(Tensor::FromValues<uint64_t>({uint64_t{INT64_MAX}}, {1})));
  EXPECT_FALSE(FitsInText(Tensor::FromValues<uint64_t>({uint64_t{1} << 63}, {1})));
  EXPECT_TRUE(
      FitsInText(Tensor::FromValues<double>({kInfinity, -kInfinity, -0.0}, {3})));
}

TEST(LiteralTest, QuotedTextReadsBackWhateverItsBytes) {
  base::Generator generator(base::RandomKey(4, 5, 6), {});
  for (int i = 0; i < 3'000; ++i) {
    std::string text;
    const int64_t size = generator.Integer(0, 12);
    for (int64_t k = 0; k < size; ++k) {
      // Half of them hexadecimal digits, which an escape before them would swallow.
      const uint64_t bits = generator.Next64();
      text += (bits & 256) != 0 ? "0123456789abcdef"[bits & 15]
                                : static_cast<char>(bits & 255);
    }
    for (const DType dtype : {DType::kString, DType::kBytes}) {
      const std::string quoted = Quote(text, dtype);
      EXPECT_TRUE(base::IsUtf8(quoted)) << absl::CHexEscape(text);
      Lexer lexer(quoted);
      const absl::StatusOr<Token> token = lexer.Next();
      ASSERT_THAT(token, IsOk()) << quoted;
      EXPECT_EQ(token->text, text) << quoted;
      EXPECT_EQ(lexer.Next()->kind, Token::Kind::kEnd);
    }
  }
}

TEST(LiteralTest, QuotedTextStaysReadable) {
  EXPECT_EQ(Quote("plain"), "\"plain\"");
  EXPECT_EQ(Quote("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(Quote("gr\xc3\xbc\xc3"), R"("gr\xc3\xbc\xc3")");
  EXPECT_EQ(Quote("gr\xc3\xbc", DType::kBytes), R"(b"gr\xc3\xbc")");
}

TEST(LiteralTest, PlainNamesNeedNoQuotes) {
  for (const std::string_view name : {"a", "_", "label", "A1_b", "true", "nan"}) {
    EXPECT_TRUE(IsPlainName(name)) << name;
  }
  for (const std::string_view name :
       {"", "1a", "a b", "a.b", "a-b", "\xc3\xbc", "a\n"}) {
    EXPECT_FALSE(IsPlainName(name)) << name;
  }
}

}  // namespace
}  // namespace millrace::ir
