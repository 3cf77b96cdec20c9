// Feeds the reader of dates any format and any text: the input's first line is the
// format. What is read has parts that are in range, and is read again the same from
// those parts.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

#include "millrace/base/check.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/first_line_test.h"

namespace millrace::kernels {
namespace {

absl::StatusOr<int64_t> Parse(const std::string& text, const ir::Arguments& arguments) {
  const absl::StatusOr<core::Column> read =
      CallKernel("parse_date",
                 {Constant(core::Tensor::Text(text, core::DType::kBytes))}, arguments);
  if (read.ok()) return read->As<int64_t>()[0];
  CHECK(absl::IsDataLoss(read.status())) << read.status();
  CHECK(read.status().message().find("row 0: ") == 0) << read.status();
  CHECK(read.status().message().size() < 512);
  return read.status();
}

int64_t Part(int64_t seconds, const std::string& part, int64_t least, int64_t most) {
  const absl::StatusOr<core::Column> read = CallKernel(
      "date_part", {Constant(core::Tensor::Scalar(seconds))}, {{"part", part}});
  CHECK(read.ok()) << read.status();
  const int64_t value = read->As<int64_t>()[0];
  CHECK(value >= least && value <= most) << part << " " << value;
  return value;
}

void CheckParts(int64_t seconds) {
  const int64_t year = Part(seconds, "year", -100'000, 100'000);
  Part(seconds, "weekday", 0, 6);
  Part(seconds, "day_of_year", 1, 366);
  const int64_t month = Part(seconds, "month", 1, 12);
  const int64_t day = Part(seconds, "day", 1, 31);
  const int64_t hour = Part(seconds, "hour", 0, 23);
  const int64_t minute = Part(seconds, "minute", 0, 59);
  const int64_t second = Part(seconds, "second", 0, 59);
  if (year < 0 || year > 9999) return;
  const std::string text = absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d", year, month,
                                           day, hour, minute, second);
  const absl::StatusOr<int64_t> again = Parse(text, {});
  CHECK(again.ok()) << again.status();
  CHECK(*again == seconds) << text;
}

void CheckDates(const std::string& format, const std::string& text) {
  const absl::StatusOr<int64_t> seconds = Parse(text, {{"format", format}});
  if (seconds.ok()) CheckParts(*seconds);
  for (const char* unit : {"milliseconds", "microseconds", "nanoseconds"}) {
    const absl::StatusOr<int64_t> fine =
        Parse(text, {{"format", format}, {"unit", unit}});
    CHECK(!fine.ok() || seconds.ok());
  }
}

}  // namespace
}  // namespace millrace::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = millrace::kernels::FirstLine::Of(data, size);
  if (!input) return 0;
  const auto type = millrace::kernels::InferKernel(
      "parse_date", {{millrace::core::DType::kBytes, {}}}, {{"format", input->line}});
  if (type.ok()) millrace::kernels::CheckDates(input->line, input->rest);
  return 0;
}
