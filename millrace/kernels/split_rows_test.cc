#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

TEST(SplitRowsTest, GivesRaggedRowsOfEveryLayout) {
  for (const Column& column : Layouts({Tensor::Text("a b"), Tensor::Text("")})) {
    EXPECT_EQ(Shown(CallKernel("split", {Rows(column)})),
              "string[2] [\"a\", \"b\"]; string[0] []");
  }
}

TEST(SplitRowsTest, KeepsBytesAndStringsApart) {
  EXPECT_EQ(InferKernel("split", {{DType::kBytes, {}}})->dtype, DType::kBytes);
  EXPECT_EQ(InferKernel("split", {{DType::kString, {}}})->shape,
            Shape({core::kUnknownSize}));
  EXPECT_FALSE(InferKernel("split", {{DType::kInt8, {}}}).ok());
}

}  // namespace
}  // namespace millrace::kernels
