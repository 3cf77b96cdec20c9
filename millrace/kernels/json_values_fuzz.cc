// Feeds the readers of JSON any path and any text: the input's first line is the path.
// Whatever they give, they agree with each other: what one value has, the list has, and
// json_has says whether something is missing.

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

using core::Column;

absl::StatusOr<Column> Call(std::string_view kernel, const std::string& text,
                            const ir::Arguments& arguments) {
  absl::StatusOr<Column> read = CallKernel(
      kernel, {Constant(core::Tensor::Text(text, core::DType::kBytes))}, arguments);
  if (read.ok()) return read;
  CHECK(read.status().code() == absl::StatusCode::kDataLoss) << read.status();
  CHECK(read.status().message().find("row 0: path ") == 0) << read.status();
  return read;
}

void CheckReaders(const std::string& path, const std::string& text) {
  const ir::Arguments at = {{"path", path}};
  const absl::StatusOr<Column> has = Call("json_has", text, at);
  for (const char* reader : {"json_int", "json_float", "json_bool", "json_text",
                             "json_ints", "json_floats", "json_texts"}) {
    const absl::StatusOr<Column> read = Call(reader, text, at);
    if (read.ok()) CHECK(has.ok() && has->As<bool>()[0]) << Shown(*read);
  }
  if (!has.ok()) return;
  const absl::StatusOr<Column> as_text = Call("json_text", text, at);
  if (as_text.ok()) CHECK(base::IsUtf8(as_text->Row(0)->TextAt(0)));
  const absl::StatusOr<Column> ints = Call("json_ints", text, at);
  if (!ints.ok() || ints->Row(0)->shape().Count() == 0) return;
  const absl::StatusOr<Column> first = Call("json_int", text, {{"path", path + "[0]"}});
  CHECK(first.ok()) << first.status();
  CHECK(first->As<int64_t>()[0] == ints->Row(0)->As<int64_t>()[0]);
}

}  // namespace
}  // namespace millrace::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = millrace::kernels::FirstLine::Of(data, size);
  if (!input) return 0;
  const auto type = millrace::kernels::InferKernel(
      "json_has", {{millrace::core::DType::kBytes, {}}}, {{"path", input->line}});
  if (type.ok()) millrace::kernels::CheckReaders(input->line, input->rest);
  return 0;
}
