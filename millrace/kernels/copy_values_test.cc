#include "millrace/kernels/copy_values.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Tensor;

Tensor Copied(const Tensor& tensor, int64_t step, int64_t count) {
  Values values = ValuesOf(tensor);
  values.step = step;
  ValueWriter out = *ValueWriter::Open(tensor.dtype(), count, core::HeapPool());
  EXPECT_EQ(CopyValues({&values, 1}, count, out), count);
  return *std::move(out).ToTensor({count});
}

TEST(CopyValuesTest, CopiesEveryFixedType) {
  for (const DType dtype : core::kAllDTypes) {
    if (core::IsVariable(dtype)) continue;
    const Tensor tensor = core::VisitDType(dtype, []<typename T>() {
      const std::vector<uint8_t> ones = {1, 0, 1, 1};
      // Not std::vector<bool>: its values do not lie side by side.
      const auto store = std::make_unique<T[]>(4);
      for (int i = 0; i < 4; ++i) store[i] = static_cast<T>(ones[i]);
      return Tensor::FromValues<T>(absl::MakeConstSpan(store.get(), 4), {4});
    });
    EXPECT_EQ(Copied(tensor, 1, 4), tensor) << dtype;
    EXPECT_EQ(Copied(tensor, 0, 4).count(), 4) << dtype;
  }
}

TEST(CopyValuesTest, RepeatsAndLeaps) {
  const std::vector<int16_t> values = {1, 2, 3, 4, 5};
  const Tensor tensor = Tensor::FromValues<int16_t>(values, {5});
  EXPECT_EQ(Copied(tensor, 0, 3).ToString(), "int16[3] [1, 1, 1]");
  EXPECT_EQ(Copied(tensor, 2, 3).ToString(), "int16[3] [1, 3, 5]");
}

TEST(CopyValuesTest, CopiesTexts) {
  const std::vector<std::string> texts = {"a", "", "ccc"};
  const Tensor tensor = Tensor::FromTexts(texts, {3}, DType::kBytes);
  EXPECT_EQ(Copied(tensor, 1, 3), tensor);
  EXPECT_EQ(Copied(tensor, 2, 2).ToString(), "bytes[2] [\"a\", \"ccc\"]");
}

}  // namespace
}  // namespace millrace::kernels
