// Feeds the kernels of regular expressions any pattern and any text: the input's first
// line is the pattern. They agree with each other, take texts apart without losing a
// byte, and never cut a character of a string.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/utf8.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/first_line_test.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Tensor;

Tensor Call(std::string_view kernel, const Input& text,
            const ir::Arguments& arguments) {
  const absl::StatusOr<core::Column> result = CallKernel(kernel, {text}, arguments);
  CHECK(result.ok()) << kernel << result.status();
  const absl::StatusOr<Tensor> row = result->Row(0);
  CHECK(row.ok()) << row.status();
  if (core::IsVariable(row->dtype()) && row->dtype() == DType::kString) {
    for (int64_t i = 0; i < row->shape().Count(); ++i) {
      CHECK(base::IsUtf8(row->TextAt(i))) << kernel;
    }
  }
  return *row;
}

void CheckPattern(const std::string& pattern, const std::string& text, DType dtype) {
  const ir::Arguments arguments = {{"pattern", pattern}};
  if (!InferKernel("regex_match", {{dtype, {}}}, arguments).ok()) return;
  const Input input = Constant(Tensor::Text(text, dtype));
  const auto matches = [&](bool whole) {
    return Call("regex_match", input, {{"pattern", pattern}, {"whole", whole}})
        .As<bool>()[0];
  };
  const Tensor found = Call("regex_extract", input, arguments);
  const bool any = matches(false);
  CHECK(any || !matches(true));
  CHECK(any || found.TextAt(0).empty());
  CHECK(text.find(found.TextAt(0)) != std::string::npos);
  const Tensor same =
      Call("regex_replace", input, {{"pattern", pattern}, {"new", "\\0"}});
  CHECK(same.TextAt(0) == text);
  const Tensor parts = Call("regex_split", input, arguments);
  size_t at = 0;
  for (int64_t i = 0; i < parts.shape().Count(); ++i) {
    at = text.find(parts.TextAt(i), at);
    CHECK(at != std::string::npos);
    at += parts.TextAt(i).size();
  }
}

}  // namespace
}  // namespace millrace::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millrace::core::DType;
  const auto input = millrace::kernels::FirstLine::Of(data, size);
  if (!input || !millrace::base::IsUtf8(input->line)) return 0;  // As arguments are.
  millrace::kernels::CheckPattern(input->line, input->rest, DType::kBytes);
  if (!millrace::base::IsUtf8(input->rest)) return 0;
  millrace::kernels::CheckPattern(input->line, input->rest, DType::kString);
  return 0;
}
