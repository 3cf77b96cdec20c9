#include <cstdint>
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

absl::StatusOr<Column> ReadX(const std::string& kernel,
                             const std::vector<std::string>& records,
                             ir::Arguments arguments) {
  const Column column = TextRows(records, DType::kBytes);
  const absl::StatusOr<Column> entries =
      CallKernel("sequence_features", {Rows(column)}, {{"names", ir::List{"x"}}});
  if (!entries.ok()) return entries.status();
  arguments.Set("index", 0);
  arguments.Set("name", "x");
  return CallKernel(kernel, {Rows(column), Rows(*entries)}, arguments);
}

std::string Record(const std::vector<std::string>& steps) {
  return SequenceOf({{"x", Texts({"context"})}}, {{"x", StepsOf(steps)}});
}

TEST(SequenceKernelsTest, ReadStepsOfOneShape) {
  EXPECT_EQ(
      Shown(ReadX("sequence_ints",
                  {Record({Ints({1}), Ints({2})}), Record({}), Record({Ints({3})})},
                  {{"shape", ir::List{}}})),
      "int64[2] [1, 2]; int64[0] []; int64[1] [3]");
  EXPECT_EQ(Shown(ReadX("sequence_floats", {Record({Floats({1, 2}), Floats({3, 4})})},
                        {{"shape", ir::List{2}}})),
            "float32[2, 2] [1.0, 2.0, 3.0, 4.0]");
  EXPECT_EQ(Shown(ReadX("sequence_texts", {Record({Texts({"a"}), Texts({"b"})})},
                        {{"shape", ir::List{}}})),
            "bytes[2] [\"a\", \"b\"]");
}

TEST(SequenceKernelsTest, ReadStepsOfAnyLength) {
  const absl::StatusOr<Column> column =
      ReadX("sequence_ints",
            {Record({Ints({1}), "", Ints({2, 3})}), Record({Ints({4, 5})})}, {});
  ASSERT_THAT(column, base::IsOk());
  EXPECT_THAT(column->values().As<int64_t>(), testing::ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(column->levels().size(), 2U);
  EXPECT_EQ(Shown(column->Slice(1, 1)), "int64[1, 2] [4, 5]");
}

TEST(SequenceKernelsTest, NameTheListThatIsWrong) {
  EXPECT_THAT(Shown(ReadX("sequence_ints", {Record({Ints({1}), Ints({})})},
                          {{"shape", ir::List{}}})),
              HasSubstr("row 0: feature x has 0 values, not those of shape []"));
  EXPECT_THAT(Shown(ReadX("sequence_ints", {Record({Floats({1})})}, {})),
              HasSubstr("row 0: feature x has floats, not integers"));
  EXPECT_THAT(Shown(ReadX("sequence_ints", {SequenceOf({}, {{"x", "\x0A\x09"}})}, {})),
              HasSubstr("row 0: feature x: record is damaged"));
}

TEST(SequenceKernelsTest, MissingListsAreWrongUnlessOptional) {
  EXPECT_THAT(Shown(ReadX("sequence_ints", {Record({}), ""}, {})),
              HasSubstr("row 1: there is no feature x"));
  EXPECT_EQ(Shown(ReadX("sequence_ints", {Record({Ints({1})}), ""},
                        {{"optional", true}, {"shape", ir::List{}}})),
            "int64[1] [1]; int64[0] []");
}

}  // namespace
}  // namespace millrace::kernels
