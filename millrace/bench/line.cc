#include "millrace/bench/line.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "millrace/base/json_text.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::bench {
namespace {

// Four digits and a unit of thousands: "12.34M".
std::string Short(double value) {
  const char* const units[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  for (; value >= 10'000 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return absl::StrFormat("%.*f%s", value < 10 ? 3 : 1, value, units[unit]);
}

std::string JsonOf(const Line& line) {
  return absl::StrFormat(
      "  {\"name\": %s, \"unit\": %s, \"ours\": %.6g, \"limit\": %.6g, "
      "\"limit_is\": %s, \"ratio\": %.4f, \"bar\": %.4g, \"at_most\": %s, "
      "\"reached\": %s}",
      base::JsonText(line.name), base::JsonText(line.unit), line.ours, line.limit,
      base::JsonText(line.limit_is), line.ratio(), line.bar,
      line.at_most ? "true" : "false", line.reached() ? "true" : "false");
}

std::string_view Verdict(const Line& line) {
  if (!line.measured()) return " n/a";
  return line.reached() ? "    " : "MISS";
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

absl::StatusOr<double> MedianOf(int repeats, Measure measure) {
  TRY(measure().status());
  std::vector<double> values;
  values.reserve(repeats);
  for (int i = 0; i < repeats; ++i) values.push_back(TRY(measure()));
  return Median(std::move(values));
}

absl::StatusOr<Medians> Compare(int repeats, Measure ours, Measure limit) {
  std::vector<double> our_values;
  std::vector<double> limit_values;
  for (int i = 0; i < repeats; ++i) {
    our_values.push_back(TRY(ours()));
    limit_values.push_back(TRY(limit()));
  }
  return Medians{Median(our_values), Median(limit_values)};
}

std::string ToTable(const std::vector<Line>& lines) {
  std::string table = absl::StrFormat("  %-34s %10s %10s %7s %9s  %s\n", "workload",
                                      "ours", "limit", "ratio", "bar", "");
  for (const Line& line : lines) {
    table += absl::StrFormat("  %-34s %10s %10s %7.3f %s %7.2f  %s %s; limit: %s\n",
                             line.name, Short(line.ours), Short(line.limit),
                             line.ratio(), line.at_most ? "<" : ">", line.bar,
                             Verdict(line), line.unit, line.limit_is);
  }
  return table;
}

std::string ToJson(const std::vector<Line>& lines) {
  return base::StrCat(
      "[\n",
      absl::StrJoin(lines, ",\n",
                    [](std::string* out, const Line& line) { *out += JsonOf(line); }),
      "\n]\n");
}

}  // namespace millrace::bench
