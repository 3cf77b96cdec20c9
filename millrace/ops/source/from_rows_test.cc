#include <cstdint>
#include <memory>
#include <string>
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
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/dataset_base.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/packed_rows.h"

namespace millrace::ops {
namespace {

using base::StatusIs;
using core::Tensor;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Tensor Of(const std::vector<int64_t>& values) {
  return Tensor::FromValues<int64_t>(absl::MakeConstSpan(values), {std::ssize(values)});
}

PackedRows Packed() {
  return *PackRows({{{"x", Of({1, 2})}, {"t", Tensor::Text("one")}},
                    {{"x", Of({3})}, {"t", Tensor::Text("two")}},
                    {{"x", Of({})}, {"t", Tensor::Text("three")}}});
}

absl::StatusOr<ir::Pipeline> Node(const PackedRows& packed) {
  return ir::Pipeline::Make(DefaultLibrary().catalog(), "from_rows",
                            {{"names", ToValue(packed.names)},
                             {"values", ToValue(packed.values)},
                             {"shapes", ToValue(packed.shapes)}},
                            {});
}

TEST(FromRowsTest, KnowsWhatTheRowsLookLikeAndHowManyThereAre) {
  const ir::Pipeline node = *Node(Packed());
  EXPECT_EQ(node.spec().ToString(), "{x: int64[?], t: string}");
  EXPECT_EQ(node.cardinality(), ir::Cardinality::Known(3));
  const PackedRows same = *PackRows({{{"x", Of({1, 2})}}, {{"x", Of({3, 4})}}});
  EXPECT_EQ(Node(same)->spec().ToString(), "{x: int64[2]}");
}

TEST(FromRowsTest, GivesTheRowsWithTheirIdentities) {
  const std::unique_ptr<Source> source =
      DefaultLibrary().MakeSource(*Node(Packed()), {.pool = core::HeapPool()});
  const lanes::Manifest manifest = *source->List();
  EXPECT_EQ(manifest.splits[0].rows, 3);
  EXPECT_TRUE(manifest.splits[0].seekable);
  const std::vector<core::Block> blocks = *ReadAll(*source, {0, 1, 3});
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].ToString(),
            "{x: int64[1] [3], t: string \"two\"}\n"
            "{x: int64[0] [], t: string \"three\"}");
  EXPECT_EQ(blocks[0].IdAt(1), SourceRowId(0, 0, 2));
  EXPECT_EQ(source->NameOfRow(0, 2), "row 2");
}

TEST(FromRowsTest, OtherRowsAreAnotherManifest) {
  const auto name = [](const PackedRows& packed) {
    return DefaultLibrary()
        .MakeSource(*Node(packed), {.pool = core::HeapPool()})
        ->List()
        ->splits[0]
        .name;
  };
  EXPECT_EQ(name(Packed()), name(Packed()));
  // The same values, otherwise divided.
  EXPECT_NE(name(*PackRows({{{"x", Of({1, 2})}}, {{"x", Of({})}}})),
            name(*PackRows({{{"x", Of({1})}}, {{"x", Of({2})}}})));
}

TEST(FromRowsTest, RefusesListsThatDoNotFitTogether) {
  PackedRows packed = Packed();
  packed.names = {"x"};
  EXPECT_THAT(Node(packed), StatusIs(kInvalid, HasSubstr("as long, not 1, 2 and 2")));
  packed = Packed();
  packed.names = {"x", "x"};
  EXPECT_THAT(Node(packed), StatusIs(kInvalid, HasSubstr("twice: x")));
  packed = Packed();
  packed.shapes[1] =
      ir::EncodeTensor(Tensor::FromValues<int64_t>(std::vector<int64_t>{}, {2, 0}));
  EXPECT_THAT(Node(packed), StatusIs(kInvalid, HasSubstr("x has 3, t has 2")));
  EXPECT_THAT(Node({}), StatusIs(kInvalid, HasSubstr("one name at least")));
}

// What is in the values is looked at when they are read.
TEST(FromRowsTest, ValuesThatDoNotFitAreAnErrorOfTheListing) {
  PackedRows packed = Packed();
  packed.values[0] = ir::EncodeTensor(Of({1, 2, 3, 4}));
  const auto source =
      DefaultLibrary().MakeSource(*Node(packed), {.pool = core::HeapPool()});
  EXPECT_THAT(source->List(), StatusIs(kInvalid, HasSubstr("not those of the shapes")));
}

}  // namespace
}  // namespace millrace::ops
