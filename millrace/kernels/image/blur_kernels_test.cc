#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/blur.h"
#include "millrace/kernels/image/random_rows_test.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::Tensor;

Tensor Blurred(const Picture& picture, int64_t size, double sigma) {
  Picture out = picture;
  Blur(picture.view(), BlurWeights(size, sigma), out.pixels.data());
  return TensorOf(out);
}

TEST(BlurKernelsTest, BlurByTheSigmaOfTheRow) {
  const Picture picture = Draw({9, 8});
  const Column out = *CallKernel(
      "gaussian_blur", {Rows(Copies(picture, 2)), Rows(ScalarRows<double>({0.5, 3.0}))},
      {{"kernel_size", 5}});
  EXPECT_EQ(*out.Row(0), Blurred(picture, 5, 0.5));
  EXPECT_EQ(*out.Row(1), Blurred(picture, 5, 3.0));
}

TEST(BlurKernelsTest, FloatsAreBlurredAsTheyAre) {
  const Tensor line = Tensor::FromValues<float>({0, 0, 1, 0, 0}, {1, 5, 1});
  for (const Column& column : Layouts({line, line})) {
    const auto out =
        CallKernel("gaussian_blur", {Rows(column), Weak(1.0)}, {{"kernel_size", 3}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(out->Row(1)->As<float>(),
                testing::ElementsAre(0, testing::FloatNear(0.274068F, 1e-5F),
                                     testing::FloatNear(0.451862F, 1e-5F),
                                     testing::FloatNear(0.274068F, 1e-5F), 0));
  }
  const Column kept =
      *CallRandom("random_gaussian_blur",
                  *core::FromRows(line.dtype(), {line, line}, core::HeapPool()),
                  {{"kernel_size", 3}, {"p", 0}});
  EXPECT_EQ(*kept.Row(1), line);
}

TEST(BlurKernelsTest, SigmaMustBeAboveZero) {
  EXPECT_EQ(
      CallKernel("gaussian_blur",
                 {Rows(Copies(Draw({2, 2}), 2)), Rows(ScalarRows<double>({1.0, 0.0}))},
                 {{"kernel_size", 5}})
          .status()
          .ToString(),
      "DATA_LOSS: row 1: sigma must be above 0 and finite, not 0");
}

TEST(BlurKernelsTest, TheKernelSizeIsOdd) {
  EXPECT_THAT(
      Shown(CallKernel("gaussian_blur", {Rows(Copies(Draw({2, 2}), 1)), Weak(1.0)},
                       {{"kernel_size", 4}})),
      testing::HasSubstr("must be odd"));
}

TEST(BlurKernelsTest, RandomBlurChangesAboutAsManyAsAsked) {
  const Picture picture = Draw({9, 8}, 3, 255);
  const Column out =
      *CallRandom("random_gaussian_blur", Copies(picture, 400),
                  {{"kernel_size", 5}, {"sigma_low", 1.0}, {"sigma_high", 1.0}});
  const int64_t blurred = CountOf(out, Blurred(picture, 5, 1.0));
  EXPECT_NEAR(static_cast<double>(blurred), 200, 40);
  EXPECT_EQ(CountOf(out, TensorOf(picture)), 400 - blurred);
}

TEST(BlurKernelsTest, RandomBlurChecksItsRange) {
  const auto error = [](const ir::Arguments& arguments) {
    return CallRandom("random_gaussian_blur", Copies(Draw({2, 2}), 1), arguments)
        .status()
        .ToString();
  };
  EXPECT_THAT(error({{"kernel_size", 3}, {"sigma_low", 0}}),
              testing::HasSubstr("sigma must be above 0"));
  EXPECT_THAT(error({{"kernel_size", 3}, {"sigma_low", 3}}),
              testing::HasSubstr("sigma_low must not be above sigma_high: 3 and 2"));
  EXPECT_THAT(error({{"kernel_size", 3}, {"p", -1}}), testing::HasSubstr("argument p"));
}

}  // namespace
}  // namespace millrace::kernels
