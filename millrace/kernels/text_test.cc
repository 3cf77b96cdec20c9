#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using core::Column;
using core::DType;
using core::Tensor;
using ir::ValueType;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

Tensor Texts(const std::vector<std::string>& texts, DType dtype = DType::kString) {
  return Tensor::FromTexts(texts, {static_cast<int64_t>(texts.size())}, dtype);
}

Input Text(const std::string& text, DType dtype = DType::kString) {
  return Constant(Tensor::Text(text, dtype));
}

// --- byte_length ---

TEST(TextTest, CountsBytes) {
  for (const DType dtype : {DType::kString, DType::kBytes}) {
    EXPECT_EQ(Shown(CallKernel("byte_length",
                               {Rows(TextRows({"", "abc", "\xC3\xBC"}, dtype))})),
              "int64 0; int64 3; int64 2");
  }
  for (const Column& column : Layouts({Texts({"a", "bb"}), Texts({"ccc"})})) {
    EXPECT_EQ(Shown(CallKernel("byte_length", {Rows(column)})),
              "int64[2] [1, 2]; int64[1] [3]");
  }
}

// --- text_join ---

TEST(TextTest, JoinsTexts) {
  const Input names = Rows(TextRows({"a", "b"}));
  EXPECT_EQ(Shown(CallKernel("text_join", {names, Text(".jpg")})),
            "string \"a.jpg\"; string \"b.jpg\"");
  EXPECT_EQ(
      Shown(CallKernel("text_join", {Text("<"), names, Text("|"), names, Text(">")})),
      "string \"<a|a>\"; string \"<b|b>\"");
}

TEST(TextTest, JoinsTextsOfEveryLayout) {
  for (const Column& column : Layouts({Texts({"a", "b"}), Texts({"c"})})) {
    EXPECT_EQ(Shown(CallKernel("text_join", {Rows(column), Text("!")})),
              "string[2] [\"a!\", \"b!\"]; string[1] [\"c!\"]");
    EXPECT_EQ(
        Shown(CallKernel("text_join", {Rows(TextRows({"x", "y"})), Rows(column)})),
        "string[2] [\"xa\", \"xb\"]; string[1] [\"yc\"]");
  }
}

TEST(TextTest, GivesBytesWhereOneOfThemIs) {
  const Input bytes = Text("b", DType::kBytes);
  EXPECT_EQ(Shown(CallKernel("text_join", {Text("a"), bytes})), "bytes \"ab\"");
  EXPECT_EQ(Shown(CallKernel("text_join", {Text("a"), Text("b")})), "string \"ab\"");
}

TEST(TextTest, InfersTheShapeOfWhatIsJoined) {
  const ValueType one = {.dtype = DType::kString, .shape = {}};
  const ValueType some = {.dtype = DType::kString, .shape = {core::kUnknownSize}};
  EXPECT_THAT(InferKernel("text_join", {one, some, one}), IsOkAndHolds(some));
  EXPECT_THAT(
      InferKernel("text_join", {one, {.dtype = DType::kInt8, .shape = {}}}),
      StatusIs(kInvalid, HasSubstr("needs texts, not string and int8; to_text")));
}

// --- text_slice ---

absl::StatusOr<Column> TextSlice(const Input& input, const ir::Value& start,
                                 const ir::Value& stop) {
  return CallKernel("text_slice", {input}, {{"start", start}, {"stop", stop}});
}

TEST(TextTest, SlicesBytesLikePython) {
  const std::string text = "hello";
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t start = -7; start <= 7; ++start) {
    for (int64_t stop = -7; stop <= 7; ++stop) {
      std::string expected;
      for (int64_t i = 0; i < size; ++i) {
        const int64_t begin = start < 0 ? start + size : start;
        const int64_t end = stop < 0 ? stop + size : stop;
        if (i >= begin && i < end) expected += text[i];
      }
      EXPECT_EQ(TextSlice(Text(text), start, stop)->TextAt(0), expected)
          << start << ":" << stop;
    }
  }
}

TEST(TextTest, SlicesFromOrToTheEnd) {
  EXPECT_EQ(TextSlice(Text("hello"), -3, {})->TextAt(0), "llo");
  EXPECT_EQ(TextSlice(Text("hello"), {}, 2)->TextAt(0), "he");
  EXPECT_EQ(TextSlice(Text("hello"), {}, {})->TextAt(0), "hello");
  EXPECT_EQ(TextSlice(Text("hello"), std::numeric_limits<int64_t>::min(),
                      std::numeric_limits<int64_t>::max())
                ->TextAt(0),
            "hello");
}

TEST(TextTest, DoesNotCutCharactersOfStrings) {
  const Column names = TextRows({"ab", "a\xC3\xBC"});
  EXPECT_THAT(
      TextSlice(Rows(names), {}, 2),
      StatusIs(kDataLoss, HasSubstr("row 1: the cut goes through a character")));
  EXPECT_THAT(TextSlice(Rows(names), 2, {}), StatusIs(kDataLoss));
  EXPECT_EQ(Shown(TextSlice(Rows(names), {}, 1)), "string \"a\"; string \"a\"");
  EXPECT_EQ(TextSlice(Text("a\xC3\xBC", DType::kBytes), {}, 2)->TextAt(0), "a\xC3");
}

TEST(TextTest, SlicesTextsOfEveryLayout) {
  for (const Column& column : Layouts({Texts({"abc", ""}), Texts({"de"})})) {
    EXPECT_EQ(Shown(TextSlice(Rows(column), 1, {})),
              "string[2] [\"bc\", \"\"]; string[1] [\"e\"]");
  }
}

// --- starts_with, ends_with, contains ---

TEST(TextTest, FindsParts) {
  const Input texts = Rows(TextRows({"", "a", "ba", "ab", "xabx"}));
  EXPECT_EQ(Shown(CallKernel("starts_with", {texts, Text("a")})),
            "bool false; bool true; bool false; bool true; bool false");
  EXPECT_EQ(Shown(CallKernel("ends_with", {texts, Text("a")})),
            "bool false; bool true; bool true; bool false; bool false");
  EXPECT_EQ(Shown(CallKernel("contains", {texts, Text("ab")})),
            "bool false; bool false; bool false; bool true; bool true");
}

TEST(TextTest, FindsTheEmptyPartEverywhere) {
  for (const std::string_view kernel : {"starts_with", "ends_with", "contains"}) {
    EXPECT_EQ(Shown(CallKernel(kernel, {Rows(TextRows({"", "a"})), Text("")})),
              "bool true; bool true")
        << kernel;
  }
}

TEST(TextTest, LooksForAnotherPartInEachRow) {
  EXPECT_EQ(
      Shown(CallKernel("contains", {Rows(TextRows({"cat", "dog"})),
                                    Rows(TextRows({"at", "at"}, DType::kBytes))})),
      "bool true; bool false");
  for (const Column& column : Layouts({Texts({"cat", "dog"}), Texts({"cow"})})) {
    EXPECT_EQ(
        Shown(CallKernel("starts_with", {Rows(column), Rows(TextRows({"d", "c"}))})),
        "bool[2] [false, true]; bool[1] [true]");
    EXPECT_EQ(Shown(CallKernel("ends_with", {Rows(column), Text("w")})),
              "bool[2] [false, false]; bool[1] [true]");
  }
}

// --- lower ---

TEST(TextTest, LowersPlainLettersOnly) {
  std::string all;
  std::string expected;
  for (int letter = 0; letter < 128; ++letter) {
    all += static_cast<char>(letter);
    const bool upper = letter >= 'A' && letter <= 'Z';
    expected += static_cast<char>(upper ? letter + 32 : letter);
  }
  const Column lowered = *CallKernel("lower", {Rows(TextRows({all, "\xC3\x9C"}))});
  EXPECT_EQ(lowered.TextAt(0), expected);
  EXPECT_EQ(lowered.TextAt(1), "\xC3\x9C");
}

TEST(TextTest, LowersEveryLayoutAndKeepsTheType) {
  const core::Tensors rows = {Texts({"A", "b"}, DType::kBytes),
                              Texts({"C"}, DType::kBytes)};
  for (const Column& column : Layouts(rows)) {
    EXPECT_EQ(Shown(CallKernel("lower", {Rows(column)})),
              "bytes[2] [\"a\", \"b\"]; bytes[1] [\"c\"]");
  }
}

// --- to_text ---

TEST(TextTest, PrintsNumbersOfEveryType) {
  for (const DType dtype : core::kAllDTypes) {
    if (core::IsVariable(dtype)) continue;
    const Column column = core::VisitDType(
        dtype, []<typename T>() { return ScalarRows<T>({static_cast<T>(1.0F)}); });
    const std::string expected = dtype == DType::kBool  ? "true"
                                 : core::IsFloat(dtype) ? "1.0"
                                                        : "1";
    EXPECT_EQ(CallKernel("to_text", {Rows(column)})->TextAt(0), expected) << dtype;
  }
}

TEST(TextTest, PrintsTheShortestDigitsThatReadBack) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Shown(CallKernel(
                "to_text",
                {Rows(ScalarRows<double>({0.1, -2, 1e300, inf, -inf, std::nan("")}))})),
            "string \"0.1\"; string \"-2.0\"; string \"1e+300\"; string \"inf\"; "
            "string \"-inf\"; string \"nan\"");
  EXPECT_EQ(Shown(CallKernel("to_text", {Rows(ScalarRows<float>({0.1F}))})),
            "string \"0.1\"");
  EXPECT_EQ(Shown(CallKernel("to_text", {Rows(ScalarRows<int64_t>({INT64_MIN}))})),
            "string \"-9223372036854775808\"");
}

TEST(TextTest, PrintsEveryLayout) {
  for (const Column& column :
       Layouts({Tensor1<uint8_t>({1, 255}), Tensor1<uint8_t>({7})})) {
    EXPECT_EQ(Shown(CallKernel("to_text", {Rows(column)})),
              "string[2] [\"1\", \"255\"]; string[1] [\"7\"]");
  }
}

TEST(TextTest, RefusesWhatItCannotTake) {
  const ValueType number = {.dtype = DType::kInt64, .shape = {}};
  const ValueType text = {.dtype = DType::kString, .shape = {}};
  for (const std::string_view kernel : {"byte_length", "lower", "text_slice"}) {
    EXPECT_THAT(InferKernel(kernel, {number}),
                StatusIs(kInvalid, HasSubstr("needs texts, not int64")))
        << kernel;
  }
  for (const std::string_view kernel : {"starts_with", "ends_with", "contains"}) {
    EXPECT_THAT(InferKernel(kernel, {text, number}),
                StatusIs(kInvalid, HasSubstr("needs texts, not string and int64")))
        << kernel;
  }
  EXPECT_THAT(InferKernel("to_text", {text}),
              StatusIs(kInvalid, HasSubstr("needs numbers or bools, not string")));
}

}  // namespace
}  // namespace millrace::kernels
