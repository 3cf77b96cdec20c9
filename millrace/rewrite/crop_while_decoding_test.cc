#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/kernels/image/samples_test.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/cases_test.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::rewrite {
namespace {

TEST(CropWhileDecodingTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("crop_while_decoding", "crop_while_decoding"), base::IsOk());
}

// Makes a crop of a decoded image.
using Crop =
    absl::FunctionRef<absl::StatusOr<ir::TermId>(ir::ExpressionBuilder&, ir::TermId)>;

// A map whose one result is a crop of a file, which is part of the pipeline.
absl::StatusOr<ir::Pipeline> CropOf(const std::string& file, Crop crop) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const ir::Pipeline range = *ir::Parse("%0 = range(stop=20)", {}, catalog);
  ir::ExpressionBuilder builder(catalog, range.spec(), range.NextCallNumber());
  const ir::TermId bytes =
      *builder.Literal(core::Tensor::Text(file, core::DType::kBytes));
  const ir::TermId image = *builder.Call("decode_image", {bytes});
  EXPECT_THAT(builder.AddResult("image", *crop(builder, image)), base::IsOk());
  return ir::Pipeline::Make(
      catalog, "map",
      {{"function", std::make_shared<const ir::Expression>(*builder.Build())}},
      {range});
}

absl::StatusOr<ir::Pipeline> RandomCropOf(const std::string& file,
                                          const std::string& method) {
  return CropOf(file, [&](ir::ExpressionBuilder& builder, ir::TermId image) {
    return builder.Call("random_resized_crop", {image},
                        {{"height", 20}, {"width", 30}, {"method", method}});
  });
}

// The upper left corner.
absl::StatusOr<ir::Pipeline> CornerOf(const std::string& file) {
  return CropOf(file, [&](ir::ExpressionBuilder& builder, ir::TermId image) {
    const ir::TermId box =
        *builder.Literal(core::Tensor::FromValues<int64_t>({0, 0, 20, 30}, {4}));
    return builder.Call("crop", {image, box});
  });
}

absl::StatusOr<ir::Pipeline> SmallCornerOf(const std::string& file) {
  return CropOf(file, [&](ir::ExpressionBuilder& builder, ir::TermId image) {
    const ir::TermId box =
        *builder.Literal(core::Tensor::FromValues<int64_t>({3, 5, 20, 30}, {4}));
    const ir::TermId corner = *builder.Call("crop", {image, box});
    return builder.Call("resize", {corner},
                        {{"height", 9}, {"width", 8}, {"antialias", true}});
  });
}

core::Block TwentyRows() {
  std::vector<core::RowId> ids;
  ids.reserve(20);
  for (size_t i = 0; i < 20; ++i) ids.push_back({1, i});
  return core::Block(20, core::FieldNames{}, {})
      .WithIds(*core::IdColumn(ids, core::HeapPool()));
}

absl::StatusOr<core::Column> Images(const ir::Pipeline& map) {
  return kernels::EvaluateValue(MapFunction(map), TwentyRows(), {.seed = 3, .epoch = 1},
                                core::HeapPool());
}

TEST(CropWhileDecodingTest, GivesTheVerySamePixels) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const kernels::Picture drawn = kernels::Draw({90, 110});
  for (const std::string method : {"nearest", "bilinear", "bicubic"}) {
    for (const int across : {1, 2}) {
      const std::string file =
          kernels::EncodeJpeg(drawn, {.across = across, .down = across});
      const absl::StatusOr<ir::Pipeline> map = RandomCropOf(file, method);
      ASSERT_THAT(map, base::IsOk());
      const absl::StatusOr<Rewritten> rewritten = Rewrite(*map, catalog);
      ASSERT_THAT(rewritten, base::IsOk());
      ASSERT_EQ(rewritten->steps[0].pass, "crop_while_decoding");
      const absl::StatusOr<core::Column> before = Images(*map);
      const absl::StatusOr<core::Column> after = Images(rewritten->after);
      ASSERT_THAT(before, base::IsOk());
      ASSERT_THAT(after, base::IsOk());
      EXPECT_TRUE(core::SameRows(*before, *after)) << method;
    }
  }
}

TEST(CropWhileDecodingTest, GivesTheVerySamePixelsOfAResizedCrop) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const absl::StatusOr<ir::Pipeline> map =
      SmallCornerOf(kernels::EncodeJpeg(kernels::Draw({90, 110}), {.across = 2}));
  ASSERT_THAT(map, base::IsOk());
  const absl::StatusOr<Rewritten> rewritten = Rewrite(*map, catalog);
  ASSERT_THAT(rewritten, base::IsOk());
  ASSERT_EQ(rewritten->steps[0].pass, "crop_while_decoding");
  const absl::StatusOr<core::Column> before = Images(*map);
  const absl::StatusOr<core::Column> after = Images(rewritten->after);
  ASSERT_THAT(before, base::IsOk());
  ASSERT_THAT(after, base::IsOk());
  EXPECT_TRUE(core::SameRows(*before, *after));
}

// What the pass says of itself: the one thing that changes.
TEST(CropWhileDecodingTest, DoesNotSeeDamageBelowTheCrop) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const std::string whole = kernels::EncodeJpeg(kernels::Draw({90, 110}));
  const std::string damaged = whole.substr(0, whole.size() / 2);
  const absl::StatusOr<ir::Pipeline> map = CornerOf(damaged);
  ASSERT_THAT(map, base::IsOk());
  EXPECT_FALSE(Images(*map).ok());
  const absl::StatusOr<Rewritten> rewritten = Rewrite(*map, catalog);
  ASSERT_THAT(rewritten, base::IsOk());
  ASSERT_EQ(rewritten->steps.size(), 1U);
  EXPECT_THAT(rewritten->steps[0].reason,
              testing::HasSubstr("damage below it not seen"));
  const absl::StatusOr<core::Column> seen = Images(rewritten->after);
  ASSERT_THAT(seen, base::IsOk());
  EXPECT_TRUE(core::SameRows(*seen, *Images(*CornerOf(whole))));
  const absl::StatusOr<Rewritten> kept =
      Rewrite(*map, catalog, {.off = {"crop_while_decoding"}});
  ASSERT_THAT(kept, base::IsOk());
  EXPECT_FALSE(Images(kept->after).ok());
}

}  // namespace
}  // namespace millrace::rewrite
