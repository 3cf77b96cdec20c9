#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::ElementsAre;

// The windows over 0, ..., rows - 1, by definition: what begins at every shift.
std::vector<std::vector<int64_t>> Defined(int64_t rows, int64_t size, int64_t shift,
                                          int64_t stride, bool drop) {
  std::vector<std::vector<int64_t>> windows;
  for (int64_t begin = 0; begin < rows; begin += shift) {
    std::vector<int64_t> window;
    for (int64_t i = 0; i < size && begin + i * stride < rows; ++i) {
      window.push_back(begin + i * stride);
    }
    if (!drop || static_cast<int64_t>(window.size()) == size) windows.push_back(window);
  }
  return windows;
}

std::vector<std::vector<int64_t>> Given(SingleOperator& window) {
  std::vector<std::vector<int64_t>> windows;
  for (const core::Block& block : window.out().blocks) {
    for (int64_t row = 0; row < block.rows(); ++row) {
      const core::Tensor value = *block.Find("value")->Row(row);
      const auto values = value.As<int64_t>();
      windows.emplace_back(values.begin(), values.end());
    }
  }
  return windows;
}

TEST(WindowTest, GivesWhatIsDefinedForEverySizeShiftAndStride) {
  for (const int64_t size : {1, 2, 5}) {
    for (const int64_t shift : {1, 3, 7}) {
      for (const int64_t stride : {1, 2, 4}) {
        for (const bool drop : {false, true}) {
          const std::string text = base::StrCat(
              "window(%0, size=", size, ", shift=", shift, ", stride=", stride,
              ", drop_remainder=", drop ? "true" : "false", ")");
          SingleOperator window(text);
          for (int64_t at = 0; at < 23; at += 4) {
            ASSERT_THAT(window.Push(Numbers(at, std::min<int64_t>(at + 4, 23))),
                        IsOk());
          }
          ASSERT_THAT(window.Finish(), IsOk());
          EXPECT_EQ(Given(window), Defined(23, size, shift, stride, drop)) << text;
          EXPECT_EQ(window.node().cardinality().rows(),
                    std::ssize(Defined(1000, size, shift, stride, drop)))
              << text;
        }
      }
    }
  }
}

TEST(WindowTest, WindowsDoNotOverlapByDefault) {
  SingleOperator window("window(%0, size=2)");
  ASSERT_THAT(window.Push(Numbers(0, 5)), IsOk());
  ASSERT_THAT(window.Finish(), IsOk());
  EXPECT_THAT(Given(window),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
}

TEST(WindowTest, NothingComesOfNothing) {
  SingleOperator window("window(%0, size=2, shift=1)");
  ASSERT_THAT(window.Finish(), IsOk());
  EXPECT_TRUE(window.out().blocks.empty());
}

TEST(WindowTest, AWindowIsKnownByItsFirstRow) {
  SingleOperator window("window(%0, size=3, shift=1, drop_remainder=true)");
  ASSERT_THAT(window.Push(Numbers(0, 4)), IsOk());
  const core::Block& windows = window.out().blocks[0];
  EXPECT_EQ(windows.IdAt(1), Numbers(1, 4).Stack(3).IdAt(0));
}

TEST(WindowTest, LooksAcrossLanesUnlessToldOtherwise) {
  const auto across = [](const std::string& text) {
    const SingleOperator window(text);
    return window.node().schema().looks_across_lanes(window.node().arguments());
  };
  EXPECT_TRUE(across("window(%0, size=2)"));
  EXPECT_FALSE(across("window(%0, size=2, per_lane=true)"));
}

}  // namespace
}  // namespace millrace::ops
