#include "millrace/ops/source/row_builder.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

core::Spec Spec() {
  return core::Spec({{"data", core::DType::kBytes, {}},
                     {"number", core::DType::kInt64, {}},
                     {"text", core::DType::kString, {}}});
}

class RowBuilderTest : public testing::Test {
 protected:
  absl::Status Add(int64_t number, const std::string& data, const std::string& digits,
                   const std::string& text) {
    EXPECT_THAT(builder_.Put(0, data), IsOk());
    EXPECT_THAT(builder_.Put(1, digits), IsOk());
    EXPECT_THAT(builder_.Put(2, text), IsOk());
    return builder_.EndRow(number);
  }

  core::Block Take() { return *builder_.TakeBlock(3); }

  static std::string TextOf(const core::Block& block, int64_t row) {
    return std::string(block.Find("data")->Row(row)->TextAt(0));
  }

  core::Pool pool_{core::MakeHeapAllocator(), {}};
  RowBuilder builder_{Spec(), {.pool = pool_}};
};

TEST_F(RowBuilderTest, MakesABlockOfTheRowsWithTheirIdentities) {
  EXPECT_THAT(Add(5, "one", "-1", "a"), IsOk());
  EXPECT_THAT(Add(7, "", "22", "\xc3\xa9"), IsOk());
  const core::Block block = Take();
  EXPECT_THAT(core::CheckAdmits(Spec(), block), IsOk());
  EXPECT_THAT(block.Find("number")->As<int64_t>(), ElementsAre(-1, 22));
  EXPECT_EQ(block.Find("data")->TextAt(0), "one");
  EXPECT_EQ(block.Find("text")->TextAt(1), "\xc3\xa9");
  EXPECT_EQ(block.IdAt(1).lo, 7U);
  EXPECT_EQ(Take().rows(), 0);
}

TEST_F(RowBuilderTest, WrongTextsDropTheirRowAlone) {
  EXPECT_THAT(Add(0, "zero", "0", "a"), IsOk());
  EXPECT_THAT(Add(1, "one", "x", "a"),
              StatusIs(kDataLoss, HasSubstr("field number is no whole number")));
  EXPECT_THAT(Add(2, "two", "2", "a\xff"),
              StatusIs(kDataLoss, HasSubstr("field text is no valid UTF-8")));
  EXPECT_THAT(Add(3, "three", "3", "c"), IsOk());
  const core::Block block = Take();
  ASSERT_EQ(block.rows(), 2);
  EXPECT_EQ(TextOf(block, 1), "three");
  EXPECT_EQ(block.IdAt(1).lo, 3U);
}

TEST_F(RowBuilderTest, ARowCanBeDroppedHalfway) {
  EXPECT_THAT(builder_.Put(0, "half"), IsOk());
  builder_.DropRow();
  EXPECT_THAT(Add(1, "one", "1", "b"), IsOk());
  EXPECT_EQ(TextOf(Take(), 0), "one");
}

TEST_F(RowBuilderTest, LongTextsHaveABufferEachSoThatKeepingOneKeepsNoOther) {
  const std::string big(kLongTextBytes, 'x');
  EXPECT_THAT(Add(0, "short", "0", ""), IsOk());
  EXPECT_THAT(Add(1, big, "1", ""), IsOk());
  EXPECT_THAT(Add(2, "short again", "2", ""), IsOk());
  core::Block block = Take();
  ASSERT_TRUE(block.Find("data")->HoldsTensors());
  EXPECT_FALSE(block.Find("text")->HoldsTensors());
  EXPECT_EQ(TextOf(block, 0), "short");
  EXPECT_EQ(TextOf(block, 1), big);
  EXPECT_EQ(TextOf(block, 2), "short again");
  const core::Tensor kept = *block.Find("data")->Row(0);
  block = {};
  EXPECT_LT(pool_.stats().used_bytes, kLongTextBytes / 2);
  EXPECT_EQ(kept.TextAt(0), "short");
}

TEST_F(RowBuilderTest, ShortTextsComeBackSideBySideAfterLongOnes) {
  EXPECT_THAT(Add(0, std::string(kLongTextBytes, 'x'), "0", ""), IsOk());
  Take();
  EXPECT_THAT(Add(1, "a", "1", ""), IsOk());  // Expects more long ones.
  EXPECT_THAT(Add(2, "", "1", ""), IsOk());
  const core::Block second = Take();
  EXPECT_TRUE(second.Find("data")->HoldsTensors());
  EXPECT_EQ(TextOf(second, 1), "");
  EXPECT_THAT(Add(3, "b", "1", ""), IsOk());
  EXPECT_FALSE(Take().Find("data")->HoldsTensors());
}

TEST_F(RowBuilderTest, IsFullWithManyRowsOrManyBytes) {
  for (int64_t i = 0; i < kBlockRows; ++i) {
    EXPECT_FALSE(builder_.is_full());
    EXPECT_THAT(Add(i, "x", "1", ""), IsOk());
  }
  EXPECT_TRUE(builder_.is_full());
  EXPECT_EQ(Take().rows(), kBlockRows);
  EXPECT_FALSE(builder_.is_full());
  EXPECT_THAT(Add(0, std::string(kBlockBytes, 'x'), "1", ""), IsOk());
  EXPECT_TRUE(builder_.is_full());
}

TEST_F(RowBuilderTest, ManyTextsOfGrowingSizeStayWhatTheyWere) {
  std::vector<std::string> texts;
  for (int block = 0; block < 3; ++block) {
    texts.clear();
    for (int i = 0; i < 200; ++i) {
      texts.emplace_back(i * 97 % 5000, static_cast<char>('a' + i % 26));
      EXPECT_THAT(Add(i, texts.back(), "1", base::StrCat(i)), IsOk());
    }
    const core::Block taken = Take();
    for (int i = 0; i < 200; ++i) EXPECT_EQ(TextOf(taken, i), texts[i]);
  }
}

TEST_F(RowBuilderTest, IdentitiesAreMadeOnlyWhereTheyAreNeeded) {
  RowBuilder builder(Spec(), {.pool = pool_, .with_ids = false});
  EXPECT_FALSE(builder.TakeBlock(0)->has_ids());
}

}  // namespace
}  // namespace millrace::ops
