#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using testing::HasSubstr;

// Finds the feature "x" in each record and reads it.
absl::StatusOr<Column> ReadX(const std::string& kernel, const Column& records,
                             ir::Arguments arguments) {
  const absl::StatusOr<Column> entries = CallKernel(
      "example_features", {Rows(records)}, {{"names", ir::List{"other", "x"}}});
  if (!entries.ok()) return entries.status();
  arguments.Set("index", 1);
  arguments.Set("name", "x");
  return CallKernel(kernel, {Rows(records), Rows(*entries)}, arguments);
}

// The same of rows with these features under the name.
std::string Read(const std::string& kernel, const std::vector<std::string>& features,
                 const ir::Arguments& arguments) {
  std::vector<std::string> records;
  records.reserve(features.size());
  for (const std::string& feature : features) {
    records.push_back(ExampleOf({{"y", Ints({1})}, {"x", feature}}));
  }
  return Shown(ReadX(kernel, TextRows(records, DType::kBytes), arguments));
}

const ir::Arguments kScalar = {{"shape", ir::List{}}};

TEST(ValueKernelsTest, ReadFixedShapes) {
  EXPECT_EQ(Read("example_ints", {Ints({5}), Ints({-1})}, kScalar),
            "int64 5; int64 -1");
  EXPECT_EQ(Read("example_floats", {Floats({1, 2, 3, 4})}, {{"shape", ir::List{2, 2}}}),
            "float32[2, 2] [1.0, 2.0, 3.0, 4.0]");
  EXPECT_EQ(Read("example_texts", {Texts({"a"}), Texts({""})}, kScalar),
            "bytes \"a\"; bytes \"\"");
  EXPECT_EQ(Read("example_texts", {Texts({"a", "b"})}, {{"shape", ir::List{2}}}),
            "bytes[2] [\"a\", \"b\"]");
  EXPECT_EQ(Read("example_floats", {Floats({})}, {{"shape", ir::List{0}}}),
            "float32[0] []");
}

TEST(ValueKernelsTest, ReadAnyLength) {
  EXPECT_EQ(Read("example_ints", {Ints({1, 2}), Ints({}), Ints({3})}, {}),
            "int64[2] [1, 2]; int64[0] []; int64[1] [3]");
  EXPECT_EQ(Read("example_floats", {Floats({0.5}), Floats({})}, {}),
            "float32[1] [0.5]; float32[0] []");
  EXPECT_EQ(Read("example_texts", {Texts({"a", "bc"}), Texts({})}, {}),
            "bytes[2] [\"a\", \"bc\"]; bytes[0] []");
}

TEST(ValueKernelsTest, ReadWhatIsNotPlain) {
  const std::string single = Field(3, NumberField(1, 5) + NumberField(1, 6));
  EXPECT_EQ(
      Read("example_ints", {single, Ints({5}) + Ints({6})}, {{"shape", ir::List{2}}}),
      "int64[2] [5, 6]; int64[2] [5, 6]");
  EXPECT_EQ(Read("example_ints", {single}, {}), "int64[2] [5, 6]");
  EXPECT_EQ(Read("example_texts", {Texts({"a"}) + Field(9, "")}, kScalar),
            "bytes \"a\"");
}

TEST(ValueKernelsTest, NameTheFeatureThatIsWrong) {
  EXPECT_THAT(Read("example_ints", {Ints({1}), Ints({1, 2})}, kScalar),
              HasSubstr("row 1: feature x has 2 values, not those of shape []"));
  EXPECT_THAT(Read("example_ints", {Floats({1})}, kScalar),
              HasSubstr("row 0: feature x has floats, not integers"));
  EXPECT_THAT(Read("example_floats", {Texts({"a"})}, {}),
              HasSubstr("feature x has texts, not floats"));
  EXPECT_THAT(Read("example_ints", {Field(3, Field(1, "\xFF"))}, {}),
              HasSubstr("row 0: feature x: record is damaged: a number does not end"));
  EXPECT_THAT(Read("example_texts", {Ints({}), ""}, kScalar),
              HasSubstr("row 0: feature x has integers, not texts"));
}

TEST(ValueKernelsTest, MissingFeaturesNeedADefault) {
  const Column records =
      TextRows({ExampleOf({{"x", Ints({4})}}), ExampleOf({}), ExampleOf({{"x", ""}})},
               DType::kBytes);
  EXPECT_THAT(Shown(ReadX("example_ints", records, kScalar)),
              HasSubstr("row 1: there is no feature x"));
  EXPECT_THAT(Shown(ReadX("example_ints", records.Slice(2, 1), {})),
              HasSubstr("row 0: there is no feature x"));
  EXPECT_EQ(Shown(ReadX("example_ints", records,
                        {{"shape", ir::List{}}, {"default", ir::List{-7}}})),
            "int64 4; int64 -7; int64 -7");
  EXPECT_EQ(Shown(ReadX("example_ints", records, {{"default", ir::List{}}})),
            "int64[1] [4]; int64[0] []; int64[0] []");
  EXPECT_EQ(Shown(ReadX("example_ints", records.Slice(1, 1),
                        {{"shape", ir::List{3}}, {"default", ir::List{9}}})),
            "int64[3] [9, 9, 9]");
  EXPECT_EQ(Shown(ReadX("example_ints", records.Slice(1, 1),
                        {{"shape", ir::List{2}}, {"default", ir::List{8, 9}}})),
            "int64[2] [8, 9]");
}

TEST(ValueKernelsTest, DefaultsFillTheShape) {
  const Column records = TextRows({""}, DType::kBytes);
  EXPECT_THAT(Shown(ReadX("example_floats", records,
                          {{"shape", ir::List{3}}, {"default", ir::List{1.0, 2.0}}})),
              HasSubstr("argument default has 2 values"));
  EXPECT_EQ(Shown(ReadX("example_texts", records,
                        {{"shape", ir::List{}}, {"default", ir::List{"none"}}})),
            "bytes \"none\"");
  EXPECT_EQ(Shown(ReadX("example_floats", records, {{"default", ir::List{0.5}}})),
            "float32[1] [0.5]");
}

// Large texts stay where they are, small ones do not keep the records alive.
TEST(ValueKernelsTest, LeaveLargeTextsInPlace) {
  const std::string large(1000, 'l');
  const Column records =
      TextRows({ExampleOf({{"x", Texts({large})}, {"small", Texts({"s"})}}),
                ExampleOf({{"x", Texts({large + "!"})}, {"small", Texts({"t"})}})},
               DType::kBytes);
  const absl::StatusOr<Column> shared = ReadX("example_texts", records, kScalar);
  ASSERT_THAT(shared, base::IsOk());
  EXPECT_EQ(shared->values().data(), records.values().data());
  EXPECT_EQ(shared->TextAt(1), large + "!");
  const absl::StatusOr<Column> second =
      ReadX("example_texts", records.Slice(1, 1), kScalar);
  ASSERT_THAT(second, base::IsOk());
  EXPECT_EQ(second->TextAt(0), large + "!");
  const absl::StatusOr<Column> entries =
      CallKernel("example_features", {Rows(records)}, {{"names", ir::List{"small"}}});
  const absl::StatusOr<Column> copied =
      CallKernel("example_texts", {Rows(records), Rows(*entries)},
                 {{"index", 0}, {"name", "small"}, {"shape", ir::List{}}});
  ASSERT_THAT(copied, base::IsOk());
  EXPECT_LT(copied->values().size(), 10);
  EXPECT_EQ(Shown(*copied), "bytes \"s\"; bytes \"t\"");
}

TEST(ValueKernelsTest, NoticeAWrongIndex) {
  const Column records = TextRows({ExampleOf({{"x", Ints({4})}})}, DType::kBytes);
  const absl::StatusOr<Column> entries =
      CallKernel("example_features", {Rows(records)}, {{"names", ir::List{"x"}}});
  EXPECT_THAT(Shown(CallKernel("example_ints", {Rows(records), Rows(*entries)},
                               {{"index", 0}, {"name", "y"}, {"shape", ir::List{}}})),
              HasSubstr("row 0: at place 0 is the feature x, not y"));
}

}  // namespace
}  // namespace millrace::kernels
