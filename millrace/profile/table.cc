#include "millrace/profile/table.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"

#include "millrace/base/text.h"
#include "millrace/profile/bottleneck.h"
#include "millrace/profile/facts.h"

namespace millrace::profile {
namespace {

// "1,234,567".
std::string WithCommas(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string OperatorLine(const OperatorFacts& facts, absl::Duration all) {
  const double microseconds_per_row = Ratio(absl::ToDoubleMicroseconds(facts.busy),
                                            static_cast<double>(facts.rows_out));
  return absl::StrFormat(
      "  %-16s %9.3f s %5.1f%% %14s %14s %10s %11.3f\n", facts.name,
      absl::ToDoubleSeconds(facts.busy),
      100 * Ratio(absl::ToDoubleSeconds(facts.busy), absl::ToDoubleSeconds(all)),
      WithCommas(facts.rows_in), WithCommas(facts.rows_out),
      ShowBytes(static_cast<double>(facts.bytes_out)), microseconds_per_row);
}

std::string Summary(const PassFacts& facts) {
  const double seconds = absl::ToDoubleSeconds(facts.wall);
  return absl::StrFormat(
      "\n  %s rows in %s blocks, %s, in %.2f s: %s, %s/s\n"
      "  first block after %.3f s; the consumer waited %.0f%%; threads worked %.0f%%\n"
      "  memory at most %s\n",
      WithCommas(facts.rows), WithCommas(facts.blocks),
      ShowBytes(static_cast<double>(facts.bytes)), seconds,
      ShowRate(Ratio(static_cast<double>(facts.rows), seconds)),
      ShowBytes(Ratio(static_cast<double>(facts.bytes), seconds)),
      absl::ToDoubleSeconds(facts.first_block),
      100 * Ratio(absl::ToDoubleSeconds(facts.waited), seconds),
      100 * Utilisation(facts),
      ShowBytes(static_cast<double>(facts.memory_peak_bytes)));
}

}  // namespace

std::string ShowLeftOut(const PassFacts& facts) {
  int64_t rows = 0;
  std::vector<std::string> parts;
  for (const OperatorFacts& of : facts.operators) {
    if (of.rows_left_out == 0) continue;
    rows += of.rows_left_out;
    parts.push_back(base::StrCat(of.name, " ", WithCommas(of.rows_left_out)));
  }
  if (rows == 0) return "";
  std::string text =
      base::StrCat("left out ", WithCommas(rows),
                   rows == 1 ? " row: " : " rows: ", absl::StrJoin(parts, ", "));
  if (!facts.first_left_out.empty()) text += "; first:";
  for (const std::string& why : facts.first_left_out) text += "\n  " + why;
  return text + "\n";
}

std::string ShowRate(double rows_per_second) {
  return base::StrCat(WithCommas(std::llround(rows_per_second)), " rows/s");
}

std::string ShowBytes(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? absl::StrFormat("%.0f B", bytes)
                   : absl::StrFormat("%.1f %s", bytes, units[unit]);
}

std::string ToTable(const PassFacts& facts) {
  absl::Duration all;
  for (const OperatorFacts& of : facts.operators) all += of.busy;
  std::string table =
      "  operator              time  share        rows in       rows out      bytes"
      "  us per row\n";
  for (const OperatorFacts& of : facts.operators) table += OperatorLine(of, all);
  table += Summary(facts);
  if (const std::string left_out = ShowLeftOut(facts); !left_out.empty()) {
    table += base::StrCat("  ", absl::StrReplaceAll(left_out, {{"\n  ", "\n    "}}));
  }
  const Bottleneck bottleneck = FindBottleneck(facts);
  return base::StrCat(table, "  bottleneck: ", bottleneck.reason,
                      "\n  what to do: ", bottleneck.advice, "\n");
}

}  // namespace millrace::profile
