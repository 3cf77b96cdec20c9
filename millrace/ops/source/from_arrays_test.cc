#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using core::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor Floats() {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  return Tensor::FromValues<float>(values, {3, 2});
}

Tensor Texts() {
  const std::vector<std::string> texts = {"one", "", "three"};
  return Tensor::FromTexts(texts, {3});
}

absl::StatusOr<ir::Pipeline> Make(const std::vector<std::string>& names,
                                  const std::vector<Tensor>& arrays) {
  ir::List items;
  for (const Tensor& array : arrays) items.emplace_back(ir::EncodeTensor(array));
  return ir::Pipeline::Make(
      DefaultLibrary().catalog(), "from_arrays",
      {{"names", ir::List(names.begin(), names.end())}, {"arrays", items}}, {});
}

TEST(FromArraysTest, GivesIndexIOfEachArrayAsRowI) {
  const ir::Pipeline node = *Make({"x", "t"}, {Floats(), Texts()});
  EXPECT_EQ(node.spec().ToString(), "{x: float32[2], t: string}");
  EXPECT_EQ(node.cardinality(), ir::Cardinality::Known(3));
  const auto source = DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
  const lanes::Manifest manifest = *source->List();
  EXPECT_EQ(manifest.splits[0].rows, 3);
  EXPECT_TRUE(manifest.splits[0].seekable);
  const core::Block block = ReadAll(*source, {0, 1, 3})->front();
  EXPECT_THAT(block.Find("x")->As<float>(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(block.Find("t")->TextAt(0), "");
  EXPECT_EQ(block.Find("t")->TextAt(1), "three");
  EXPECT_EQ(block.IdAt(0).lo, 1U);
}

TEST(FromArraysTest, CopiesNothing) {
  const ir::Pipeline node = *Make({"x"}, {Floats()});
  const auto source = DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_FALSE(source->waits());  // It is all there.
  const core::Block all = ReadAll(*source, {0, 0, 3})->front();
  const core::Block rest = ReadAll(*source, {0, 1, 3})->front();
  EXPECT_EQ(rest.Find("x")->values().data(), all.Find("x")->values().data() + 8);
}

TEST(FromArraysTest, TextsMayHaveAShape) {
  const std::vector<std::string> texts = {"a", "b", "c", "d"};
  const ir::Pipeline node = *Make({"t"}, {Tensor::FromTexts(texts, {2, 2})});
  const auto source = DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
  ASSERT_THAT(source->List(), IsOk());
  const core::Block block = ReadAll(*source, {0, 1, 2})->front();
  EXPECT_EQ(*block.Find("t")->Row(0),
            Tensor::FromTexts(absl::MakeConstSpan(texts).subspan(2), {2}));
}

TEST(FromArraysTest, SurvivesTheTextForm) {
  const ir::Pipeline node = *Make({"x", "t"}, {Floats(), Texts()});
  const ir::PipelineText text = ir::Print(node);
  const auto again = ir::Parse(text.text, text.attachments, DefaultLibrary().catalog());
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->fingerprint(), node.fingerprint());
}

TEST(FromArraysTest, ManyRowsComeInSeveralBlocks) {
  const std::vector<int64_t> numbers(20'000, 7);
  const ir::Pipeline node =
      *Make({"x"}, {Tensor::FromValues<int64_t>(numbers, {20'000})});
  const auto source = DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_EQ(ReadAll(*source, {0, 0, 20'000})->size(), 3U);
}

TEST(FromArraysTest, RefusesArraysThatMakeNoRows) {
  EXPECT_THAT(Make({}, {}),
              StatusIs(kInvalidArgument, HasSubstr("one array at least")));
  EXPECT_THAT(Make({"x"}, {}), StatusIs(kInvalidArgument, HasSubstr("1 names for 0")));
  EXPECT_THAT(Make({"x"}, {Tensor::Scalar<int64_t>(1)}),
              StatusIs(kInvalidArgument, HasSubstr("rows need an axis")));
  EXPECT_THAT(Make({"x", "y"}, {Floats(), Tensor::Scalar<int64_t>(1)}),
              StatusIs(kInvalidArgument, HasSubstr("differ in their number of rows")));
  EXPECT_THAT(Make({"x", "x"}, {Floats(), Texts()}),
              StatusIs(kInvalidArgument, HasSubstr("twice: x")));
  EXPECT_THAT(Make({""}, {Floats()}), StatusIs(kInvalidArgument));
}

}  // namespace
}  // namespace millrace::ops
