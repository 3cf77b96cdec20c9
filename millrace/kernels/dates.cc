// parse_date and date_part: texts as moments, and moments as years, months, hours.

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/calendar.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int64_t kSecondsPerDay = 86400;

ir::ArgumentSchema UnitArgument(std::string doc) {
  return {.name = "unit",
          .type = ir::ArgumentType::kText,
          .doc = std::move(doc),
          .default_value = "seconds",
          .choices = {"seconds", "milliseconds", "microseconds", "nanoseconds"}};
}

// How many of the unit are a second.
int64_t PerSecond(const ir::Arguments& arguments) {
  const auto& unit = arguments["unit"].As<std::string>();
  if (unit == "seconds") return 1;
  if (unit == "milliseconds") return 1'000;
  if (unit == "microseconds") return 1'000'000;
  return kNanosecondsPerSecond;
}

// --- parse_date ---

absl::StatusOr<ValueType> InferParse(const KernelTypes& types) {
  ValueType type = TRY(MeetTexts(types.operands));
  TRY(DateFormat::Parse(types.arguments["format"].As<std::string>()));
  type.dtype = DType::kInt64;
  return type;
}

// An error where int64 has no room for it: nanoseconds reach from 1677 to 2262.
absl::StatusOr<int64_t> InUnits(const Moment& moment, int64_t per_second) {
  int64_t units = 0;
  const int64_t fraction = moment.nanoseconds / (kNanosecondsPerSecond / per_second);
  if (__builtin_mul_overflow(moment.seconds, per_second, &units) ||
      __builtin_add_overflow(units, fraction, &units)) {
    return absl::InvalidArgumentError("the date is out of the range of the unit");
  }
  return units;
}

absl::StatusOr<int64_t> ReadDate(const DateFormat& format, std::string_view text,
                                 int64_t per_second) {
  return InUnits(TRY(format.Read(text)), per_second);
}

absl::StatusOr<Column> RunParse(const KernelCall& call) {
  const DateFormat format =
      TRY(DateFormat::Parse(call.arguments["format"].As<std::string>()));
  const int64_t per_second = PerSecond(call.arguments);
  std::string found;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    auto* const result = out.Take<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      const absl::StatusOr<int64_t> date =
          ReadDate(format, operands[0].TextAt(i), per_second);
      if (!date.ok()) {
        found = std::string(base::ToStd(date.status().message()));
        return i;
      }
      result[i] = *date;
    }
    return count;
  };
  return ElementwiseChecked(call, std::array{DType::kBytes}, loop, found);
}

// --- date_part ---

absl::StatusOr<ValueType> InferPart(const KernelTypes& types) {
  const auto fits = [](DType dtype) {
    return core::IsInteger(dtype) && dtype != DType::kUint64;
  };
  TRY(CheckAll(types.operands, fits, "integers that int64 holds",
               "parse_date makes them of texts"));
  return ValueType{.dtype = DType::kInt64, .shape = types.operands[0].shape};
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

using PartOf = int64_t (*)(int64_t days, int64_t second_of_day);

PartOf PartNamed(std::string_view name) {
  if (name == "year") return [](int64_t days, int64_t) { return DateOf(days).year; };
  if (name == "month") return [](int64_t days, int64_t) { return DateOf(days).month; };
  if (name == "day") return [](int64_t days, int64_t) { return DateOf(days).day; };
  if (name == "hour") return [](int64_t, int64_t second) { return second / 3600; };
  if (name == "minute") return [](int64_t, int64_t second) { return second / 60 % 60; };
  if (name == "second") return [](int64_t, int64_t second) { return second % 60; };
  if (name == "weekday") {
    // The first of January 1970 was a Thursday.
    return
        [](int64_t days, int64_t) { return days + 3 - FloorDivide(days + 3, 7) * 7; };
  }
  CHECK_EQ(name, "day_of_year");
  return [](int64_t days, int64_t) {
    return days - DaysOf({.year = DateOf(days).year}) + 1;
  };
}

absl::StatusOr<Column> RunPart(const KernelCall& call) {
  const PartOf part = PartNamed(call.arguments["part"].As<std::string>());
  const int64_t per_second = PerSecond(call.arguments);
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    const Values& x = operands[0];
    auto* const result = out.Take<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t seconds = FloorDivide(x.As<int64_t>()[i * x.step], per_second);
      const int64_t days = FloorDivide(seconds, kSecondsPerDay);
      const int64_t rest = seconds % kSecondsPerDay;
      result[i] = part(days, rest < 0 ? rest + kSecondsPerDay : rest);
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kInt64}, loop);
}

}  // namespace

KernelSchema ParseDateKernel() {
  return {.name = "parse_date",
          .doc =
              "Reads texts as dates and times: how long since 1970-01-01 00:00 UTC. "
              "A text that is none is an error of the row.",
          .operands = {{"x", "Texts of any shape."}},
          .arguments = {{.name = "format",
                         .type = ir::ArgumentType::kText,
                         .doc = "How they are written: iso8601, as in "
                                "2024-01-31T12:30:15.25+02:00 of which "
                                "only the date must be there; or text with the parts "
                                "%Y %m %d %H %M %S %y %I %p %b %B %j %f %z %F %T %%, "
                                "as of strptime. Without a zone it is UTC.",
                         .default_value = "iso8601"},
                        UnitArgument("What is counted; what is finer is dropped.")},
          .fails = ir::Fails::kOnData,
          .infer = InferParse,
          .run = RunParse};
}

KernelSchema DatePartKernel() {
  return {.name = "date_part",
          .doc =
              "Gives a part of a moment, in UTC: months, days and days of the year "
              "count from 1, weekdays from 0, which is Monday.",
          .operands = {{"x",
                        "How long since 1970-01-01 00:00 UTC, integers of any "
                        "shape."}},
          .arguments = {{.name = "part",
                         .type = ir::ArgumentType::kText,
                         .doc = "Which part.",
                         .choices = {"year", "month", "day", "hour", "minute", "second",
                                     "weekday", "day_of_year"}},
                        UnitArgument("What was counted.")},
          .infer = InferPart,
          .run = RunPart};
}

}  // namespace millrace::kernels
