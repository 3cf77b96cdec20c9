#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/dtype.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::kernels {
namespace {

using core::DType;
using testing::HasSubstr;

std::string Find(const std::string& kernel, const std::vector<std::string>& records,
                 const ir::List& names) {
  return Shown(
      CallKernel(kernel, {Rows(TextRows(records, DType::kBytes))}, {{"names", names}}));
}

TEST(FindKernelsTest, FindPlacesInEachRow) {
  EXPECT_EQ(
      Find("example_features",
           {ExampleOf({{"a", Ints({1})}, {"bc", Ints({2})}}), ExampleOf({}), ""},
           {"bc", "a", "z"}),
      "int64[3, 2] [16, 27, 4, 14, -1, -1]; int64[3, 2] [-1, -1, -1, -1, -1, -1]; "
      "int64[3, 2] [-1, -1, -1, -1, -1, -1]");
}

TEST(FindKernelsTest, FindContextAndListsOfASequence) {
  const std::string record = SequenceOf({{"a", ""}}, {{"a", ""}});
  EXPECT_EQ(Find("example_features", {record}, {"a"}), "int64[1, 2] [4, 9]");
  EXPECT_EQ(Find("sequence_features", {record}, {"a"}), "int64[1, 2] [13, 18]");
}

TEST(FindKernelsTest, NamesTheRowThatIsDamaged) {
  EXPECT_THAT(Find("example_features", {ExampleOf({{"a", ""}}), "\x0A\x09"}, {"a"}),
              HasSubstr("row 1: record is damaged: a length reaches beyond its message "
                        "at byte 1"));
}

TEST(FindKernelsTest, TakeEachNameOnce) {
  EXPECT_THAT(Find("example_features", {""}, {"a", "b", "a"}), HasSubstr("twice"));
  EXPECT_EQ(Find("example_features", {""}, {}), "int64[0, 2] []");
}

TEST(FindKernelsTest, NeedRecords) {
  EXPECT_THAT(Shown(CallKernel("example_features", {Rows(ScalarRows<int>({1}))},
                               {{"names", ir::List{}}})),
              HasSubstr("needs the bytes of one record, not int32"));
}

}  // namespace
}  // namespace millrace::kernels
