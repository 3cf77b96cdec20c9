#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/transform/rows_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;

class PackTest : public ::testing::Test {
 protected:
  // Packs lists, pushed in blocks of a size.
  void Run(const std::string& arguments, const Lists& lists, size_t block = 1000) {
    node_ = std::make_unique<ir::Pipeline>(
        *BehindLists(base::StrCat("pack(%0, ", arguments, ")")));
    const auto runs =
        DefaultLibrary().Make(*node_, SingleOperator::TestLane(left_out_));
    for (size_t at = 0; at < lists.size(); at += block) {
      const Lists part(lists.begin() + at,
                       lists.begin() + std::min(at + block, lists.size()));
      ASSERT_THAT(runs->Push(ListBlock(part, static_cast<int64_t>(at)), out_), IsOk());
    }
    ASSERT_THAT(runs->Finish(out_), IsOk());
  }

  std::string Shown(const std::string& field = "x") const {
    return ShownRows(out_.blocks, field);
  }

  std::unique_ptr<ir::Pipeline> node_;
  Collector out_;
  LeavesOut left_out_;
};

TEST_F(PackTest, ASequenceGoesWhereItFitsBest) {
  Run("size=4", {{1, 1}, {2, 2, 2}, {3}, {4, 4}});
  EXPECT_EQ(Shown(), "int64[4] [2, 2, 2, 3]; int64[4] [1, 1, 4, 4]");
}

TEST_F(PackTest, OrIntoTheFirstWithRoom) {
  Run("size=4, method=\"first_fit\"", {{1, 1}, {2, 2, 2}, {3}, {4}});
  EXPECT_EQ(Shown(), "int64[4] [1, 1, 3, 4]; int64[4] [2, 2, 2, 0]");
}

TEST_F(PackTest, OrIsJoinedToTheOthersAndCut) {
  Run("size=4, method=\"split\"", {{1, 1}, {2, 2, 2, 2, 2, 2, 2}, {}, {3}});
  EXPECT_EQ(Shown(),
            "int64[4] [1, 1, 2, 2]; int64[4] [2, 2, 2, 2]; int64[4] [2, 3, 0, 0]");
  EXPECT_EQ(Shown("segment_ids"),
            "int32[4] [1, 1, 2, 2]; int32[4] [1, 1, 1, 1]; int32[4] [1, 2, 0, 0]");
}

TEST_F(PackTest, ItemsKnowTheirSequenceAndTheirPlaceInIt) {
  Run("size=6, pad_value=-1", {{7, 8, 9}, {5, 6}});
  EXPECT_EQ(Shown(), "int64[6] [7, 8, 9, 5, 6, -1]");
  EXPECT_EQ(Shown("segment_ids"), "int32[6] [1, 1, 1, 2, 2, 0]");
  EXPECT_EQ(Shown("positions"), "int32[6] [0, 1, 2, 0, 1, 0]");
}

TEST_F(PackTest, TheFullestMakesRoomForANewOne) {
  Run("size=4, open=2", {{1, 1}, {2, 2, 2}, {3, 3, 3}});
  EXPECT_EQ(Shown(),
            "int64[4] [2, 2, 2, 0]; int64[4] [1, 1, 0, 0]; "
            "int64[4] [3, 3, 3, 0]");
}

TEST_F(PackTest, RowsThatAreNotFullCanBeDropped) {
  Run("size=2, drop_remainder=true", {{1}, {2, 2}});
  EXPECT_EQ(Shown(), "int64[2] [2, 2]");
}

TEST_F(PackTest, ASequenceThatIsTooLongIsAnErrorOfTheRow) {
  Run("size=2", {{1}, {2, 2, 2}, {3}});
  EXPECT_EQ(Shown(), "int64[2] [1, 3]");
  EXPECT_THAT(left_out_.reasons,
              ElementsAre(HasSubstr("a sequence of 3 items is longer than 2")));
}

TEST_F(PackTest, TheSpecHasOneLength) {
  Run("size=8, segments=\"s\", positions=\"p\"", {});
  EXPECT_EQ(node_->spec().ToString(), "{x: int64[8], s: int32[8], p: int32[8]}");
  EXPECT_TRUE(out_.blocks.empty());
}

TEST_F(PackTest, WhatIsNoListIsRefused) {
  EXPECT_THAT(ErrorOf("pack(%0, size=8)"),
              HasSubstr("needs fields that are lists of numbers, not {value: int64}"));
  EXPECT_THAT(
      std::string(BehindLists("pack(%0, size=8, segments=\"x\")").status().message()),
      HasSubstr("there is a field x already"));
}

// Every item once, sequences whole and in order, and little room left.
TEST_F(PackTest, NothingIsLostAndLittleIsPadded) {
  base::Generator draw(base::RandomKey(3, 0, 0), {});
  Lists lists;
  std::map<int64_t, int64_t> lengths;  // Of sequences, by what is in them.
  int64_t items = 0;
  for (int64_t i = 1; i <= 5000; ++i) {
    const int64_t length = draw.Integer(1, 101);
    lists.emplace_back(length, i);
    lengths[i] = length;
    items += length;
  }
  Run("size=256", lists, 77);
  int64_t rows = 0;
  for (const core::Block& block : out_.blocks) {
    rows += block.rows();
    for (int64_t row = 0; row < block.rows(); ++row) {
      const core::Tensor values = *block.Find("x")->Row(row);
      const core::Tensor segments = *block.Find("segment_ids")->Row(row);
      for (int64_t i = 0; i < 256; ++i) {
        const int64_t value = values.As<int64_t>()[i];
        EXPECT_EQ(value == 0, segments.As<int32_t>()[i] == 0);
        if (value > 0) --lengths[value];
      }
    }
  }
  for (const auto& [sequence, left] : lengths) EXPECT_EQ(left, 0) << sequence;
  EXPECT_GT(static_cast<double>(items) / static_cast<double>(rows * 256), 0.98);
}

}  // namespace
}  // namespace millrace::ops
