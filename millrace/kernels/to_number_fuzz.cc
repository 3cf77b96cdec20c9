// Feeds the reader of numbers any text, for every type. What is read, written as a text
// and read again is the same number; an integer that a type holds is read alike by all
// that hold it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

std::optional<core::Column> Read(const Input& text, core::DType dtype) {
  const absl::StatusOr<core::Column> read = CallKernel(
      "to_number", {text}, {{"dtype", ir::Value(std::string(core::Name(dtype)))}});
  if (read.ok()) return *read;
  CHECK(absl::IsDataLoss(read.status())) << read.status();
  CHECK(read.status().message().find("row 0: \"") == 0) << read.status();
  CHECK(read.status().message().size() < 512);
  return std::nullopt;
}

void CheckAgain(const core::Column& number) {
  const absl::StatusOr<core::Column> text = CallKernel("to_text", {Rows(number)});
  CHECK(text.ok()) << text.status();
  const std::optional<core::Column> again = Read(Rows(*text), number.dtype());
  CHECK(again.has_value()) << Shown(*text);
  CHECK(core::SameRows(*again, number) || Shown(*again) == Shown(number))
      << Shown(*text);
}

void CheckNumber(std::string_view text) {
  const Input input = Constant(core::Tensor::Text(text, core::DType::kBytes));
  const std::optional<core::Column> whole = Read(input, core::DType::kInt64);
  for (const core::DType dtype : core::kAllDTypes) {
    const bool real = dtype == core::DType::kFloat32 || dtype == core::DType::kFloat64;
    if (!core::IsInteger(dtype) && !real) continue;
    const std::optional<core::Column> read = Read(input, dtype);
    if (read) CheckAgain(*read);
    if (!read || real || dtype == core::DType::kUint64) continue;
    CHECK(whole.has_value());
    const absl::StatusOr<core::Column> same =
        CallKernel("equal", {Rows(*read), Rows(*whole)});
    CHECK(same.ok() && same->As<bool>()[0]) << Shown(*read);
  }
}

}  // namespace
}  // namespace millrace::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millrace::kernels::CheckNumber({reinterpret_cast<const char*>(data), size});
  return 0;
}
