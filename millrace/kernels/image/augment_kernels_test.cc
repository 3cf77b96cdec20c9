#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/random_rows_test.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using testing::HasSubstr;

int64_t Different(const std::string& kernel, const ir::Arguments& arguments = {}) {
  return CountDifferent(
      *CallRandom(kernel, Copies(Draw({9, 8}, 3, 255), 100), arguments));
}

TEST(AugmentKernelsTest, RowsAreChangedEachInItsOwnWay) {
  EXPECT_GT(Different("rand_augment"), 40);
  EXPECT_GT(Different("trivial_augment_wide"), 40);
  EXPECT_GT(Different("auto_augment"), 15);
  EXPECT_GT(Different("auto_augment", {{"policy", "cifar10"}}), 15);
  EXPECT_GT(Different("auto_augment", {{"policy", "svhn"}}), 15);
}

TEST(AugmentKernelsTest, NoOperationsChangeNothing) {
  const Picture picture = Draw({9, 8}, 3, 255);
  const Column out = *CallRandom("rand_augment", Copies(picture, 20), {{"num_ops", 0}});
  EXPECT_EQ(CountOf(out, TensorOf(picture)), 20);
}

TEST(AugmentKernelsTest, ManyOperationsFollowEachOther) {
  EXPECT_EQ(Different("rand_augment", {{"num_ops", 7}, {"magnitude", 15}}), 100);
}

TEST(AugmentKernelsTest, ArgumentsAreChecked) {
  const Column images = Copies(Draw({2, 2}), 1);
  EXPECT_THAT(
      CallRandom("rand_augment", images, {{"magnitude", 31}}).status().ToString(),
      HasSubstr("argument magnitude must be less than num_magnitude_bins, 31"));
  EXPECT_THAT(
      CallRandom("auto_augment", images, {{"policy", "mnist"}}).status().ToString(),
      HasSubstr("policy"));
  EXPECT_THAT(
      InferKernel("rand_augment", {{.dtype = DType::kUint8, .shape = {2, 2, 4}}})
          .status()
          .ToString(),
      HasSubstr("3 channels, or 1"));
  EXPECT_THAT(
      InferKernel("auto_augment", {{.dtype = DType::kFloat32, .shape = {2, 2, 3}}})
          .status()
          .ToString(),
      HasSubstr("uint8"));
}

TEST(AugmentKernelsTest, AnImageWithoutPixelsIsAnErrorOfTheRow) {
  EXPECT_THAT(
      CallRandom("trivial_augment_wide", Copies(Blank({0, 3}), 1)).status().ToString(),
      HasSubstr("row 0: an image has no pixels"));
}

}  // namespace
}  // namespace millrace::kernels
