#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/cases_test.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::rewrite {
namespace {

ir::Pipeline MapOf(const std::string& function) {
  return *ir::Parse(
      base::StrCat("%0 = range(stop=3) %1 = map(%0, function={", function, "})"), {},
      ops::DefaultLibrary().catalog());
}

ir::Pipeline Folded(const ir::Pipeline& map) {
  return Rewrite(map, ops::DefaultLibrary().catalog())->after;
}

// The results for three rows without fields.
absl::StatusOr<std::vector<core::Column>> Results(const ir::Pipeline& map) {
  return kernels::Evaluate(MapFunction(map), core::Block(3, core::FieldNames{}, {}), {},
                           core::HeapPool());
}

bool HasCalls(const ir::Pipeline& map) {
  return std::ranges::count(MapFunction(map).terms(), ir::Term::Kind::kCall,
                            &ir::Term::kind) > 0;
}

TEST(FoldConstantsTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("fold_constants", "fold_constants"), base::IsOk());
}

TEST(FoldConstantsTest, GivesTheVeryBitsOfARun) {
  const ir::Pipeline map = MapOf(
      "a: 1 / 3, b: 0.1f32 * 0.7f32, c: sqrt(2.0), d: -0.0 * 1.0, e: 250u8 + 9u8, "
      "f: 7 // -2, g: -7 % 3, h: mean(float32[0.1, 0.2, 0.3]), i: 2 < 3 and true, "
      "j: cast(3.7, dtype=\"bfloat16\") * cast(1.3, dtype=\"bfloat16\"), "
      "k: text_join(\"a\", \"b\"), l: int64[1, 2, 3] * int64[4, 5, 6], "
      "m: where(1 < 2, 5, 6), n: 1.0 / 0.0, o: shape(int64[[1, 2], [3, 4]])");
  const ir::Pipeline folded = Folded(map);
  EXPECT_TRUE(HasCalls(map));
  EXPECT_FALSE(HasCalls(folded));
  EXPECT_EQ(folded.spec(), map.spec());
  const absl::StatusOr<std::vector<core::Column>> before = Results(map);
  const absl::StatusOr<std::vector<core::Column>> after = Results(folded);
  ASSERT_THAT(before, base::IsOk());
  ASSERT_THAT(after, base::IsOk());
  for (size_t i = 0; i < before->size(); ++i) {
    EXPECT_TRUE(core::SameRows((*before)[i], (*after)[i]))
        << MapFunction(map).results()[i].name;
  }
}

TEST(FoldConstantsTest, AnErrorStaysTheErrorOfTheRun) {
  const ir::Pipeline map = MapOf("x: (1 + 1) // (1 - 1), y: int64[1, 2][1 + 1]");
  const absl::Status error = Results(map).status();
  EXPECT_THAT(error, base::StatusIs(absl::StatusCode::kDataLoss,
                                    testing::HasSubstr("division by zero")));
  EXPECT_EQ(Results(Folded(map)).status(), error);
}

TEST(FoldConstantsTest, LeavesAFunctionAloneThatIsTooLargeToHoldTwice) {
  std::string sum = ".value + (1 + 1)";
  for (int i = 2; i < 17'000; ++i) sum += base::StrCat(" + .value * ", i);
  const ir::Pipeline map = MapOf(base::StrCat("x: ", sum));
  EXPECT_EQ(Folded(map), map);
}

}  // namespace
}  // namespace millrace::rewrite
