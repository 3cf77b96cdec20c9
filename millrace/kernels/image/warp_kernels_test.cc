#include <cmath>
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/random_rows_test.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using testing::HasSubstr;

Column Square() {
  return Copies({.size = {2, 2}, .channels = 1, .pixels = {1, 2, 3, 4}}, 1);
}

TEST(WarpKernelsTest, RotateTurnsAgainstTheClock) {
  EXPECT_EQ(Shown(CallKernel("rotate", {Rows(Square()), Weak(90.0)})),
            "uint8[2, 2, 1] [2, 4, 1, 3]");
}

TEST(WarpKernelsTest, RotateMakesRoomWhereAsked) {
  const Column wide = Copies({.size = {1, 3}, .channels = 1, .pixels = {1, 2, 3}}, 1);
  EXPECT_EQ(Shown(CallKernel("rotate", {Rows(wide), Weak(90.0)}, {{"expand", true}})),
            "uint8[3, 1, 1] [3, 2, 1]");
  EXPECT_EQ(InferKernel("rotate",
                        {{.dtype = DType::kUint8, .shape = {5, 5, 3}},
                         {.dtype = DType::kFloat64, .shape = {}}},
                        {{"expand", true}})
                ->shape,
            core::Shape({core::kUnknownSize, core::kUnknownSize, 3}));
}

TEST(WarpKernelsTest, AffineMovesAndFills) {
  EXPECT_EQ(Shown(CallKernel("affine",
                             {Rows(Square()), Weak(0.0), Weak(int64_t{1}), Weak(0.0),
                              Weak(1.0), Weak(0.0), Weak(0.0)},
                             {{"fill", ir::List{9}}})),
            "uint8[2, 2, 1] [9, 1, 9, 3]");
}

TEST(WarpKernelsTest, FloatsAreTurnedAndMovedAsTheyAre) {
  const core::Tensor square =
      core::Tensor::FromValues<float>({0.25F, -1, 0.5F, 2}, {2, 2, 1});
  for (const Column& column : Layouts({square})) {
    EXPECT_EQ(Shown(CallKernel("rotate", {Rows(column), Weak(90.0)})),
              "float32[2, 2, 1] [-1.0, 2.0, 0.25, 0.5]");
    EXPECT_EQ(Shown(CallKernel("affine",
                               {Rows(column), Weak(0.0), Weak(0.5), Weak(0.0),
                                Weak(1.0), Weak(0.0), Weak(0.0)},
                               {{"fill", ir::List{1}}, {"method", "bilinear"}})),
              "float32[2, 2, 1] [0.625, -0.375, 0.75, 1.25]");
  }
  EXPECT_THAT(InferKernel("rotate", {{.dtype = DType::kFloat64, .shape = {5, 5, 3}},
                                     {.dtype = DType::kFloat64, .shape = {}}})
                  .status()
                  .ToString(),
              HasSubstr("needs an image of uint8 or float32"));
}

TEST(WarpKernelsTest, NumbersBeyondAllUseAreErrorsOfTheRow) {
  EXPECT_THAT(
      CallKernel("rotate", {Rows(Square()), Weak(std::nan(""))}).status().ToString(),
      HasSubstr("DATA_LOSS: row 0: cannot turn by"));
  EXPECT_THAT(CallKernel("affine", {Rows(Square()), Weak(0.0), Weak(0.0), Weak(0.0),
                                    Weak(0.0), Weak(0.0), Weak(0.0)})
                  .status()
                  .ToString(),
              HasSubstr("row 0: cannot turn by"));
}

TEST(WarpKernelsTest, FillHasOneValueOrOneByChannel) {
  const auto infer = [](const ir::List& fill) {
    return InferKernel("random_rotation",
                       {{.dtype = DType::kUint8, .shape = {2, 2, 3}}},
                       {{"degrees", 10}, {"fill", fill}})
        .status()
        .ToString();
  };
  EXPECT_EQ(infer({7}), "OK");
  EXPECT_EQ(infer({7, 8, 9}), "OK");
  EXPECT_THAT(infer({7, 8}), HasSubstr("fill has 2 values, but the image has 3"));
  EXPECT_THAT(infer({}), HasSubstr("argument fill must have a value"));
  EXPECT_THAT(infer({256}), HasSubstr("fill"));
}

TEST(WarpKernelsTest, RandomOnesDrawForEachRow) {
  const Column images = Copies(Draw({9, 9}, 3, 255), 40);
  const auto different = [&](const std::string& kernel,
                             const ir::Arguments& arguments) {
    return CountDifferent(*CallRandom(kernel, images, arguments));
  };
  EXPECT_GT(different("random_rotation", {{"degrees", 90}}), 30);
  EXPECT_EQ(different("random_rotation", {{"degrees", 0}}), 1);
  EXPECT_EQ(different("random_affine", {{"degrees", 0}}), 1);
  EXPECT_GT(different("random_affine", {{"degrees", 0}, {"translate_x", 0.5}}), 4);
  EXPECT_GT(different("random_affine", {{"degrees", 0}, {"scale_low", 0.5}}), 3);
  EXPECT_GT(different("random_affine", {{"degrees", 0}, {"shear_y", 45}}), 10);
}

TEST(WarpKernelsTest, RandomOnesCheckTheirRanges) {
  const auto error = [](const ir::Arguments& arguments) {
    return CallRandom("random_affine", Square(), arguments).status().ToString();
  };
  EXPECT_THAT(error({{"degrees", -1}}), HasSubstr("argument degrees must be from 0"));
  EXPECT_THAT(error({{"degrees", 0}, {"translate_x", 1.5}}),
              HasSubstr("argument translate_x must be from 0 to 1"));
  EXPECT_THAT(error({{"degrees", 0}, {"shear_x", 90}}), HasSubstr("shear_x"));
  EXPECT_THAT(error({{"degrees", 0}, {"scale_low", 2}}),
              HasSubstr("scale_low and scale_high must go up"));
}

}  // namespace
}  // namespace millrace::kernels
