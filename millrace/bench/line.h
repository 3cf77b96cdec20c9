// One line of a benchmark's result: what we reach beside what could be reached,
// measured in the same run. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace millrace::bench {

struct Line {
  std::string name;
  std::string unit = {};  // Of ours and limit, per second unless it says otherwise.
  double ours = 0;        // Median.
  double limit = 0;       // Median of the plain loop, or the number to keep to.
  std::string limit_is = {};
  double bar = 0;        // The ratio to reach.
  bool at_most = false;  // The ratio is to stay below the bar.

  double ratio() const { return limit > 0 ? ours / limit : 0; }

  // What there is to compare with may not be installed.
  bool measured() const { return limit > 0; }

  bool reached() const { return at_most ? ratio() <= bar : ratio() >= bar; }
};

// Measures two things in turn, so that both see the same machine: gives the medians.
struct Medians {
  double ours = 0;
  double limit = 0;
};

using Measure = absl::FunctionRef<absl::StatusOr<double>()>;

absl::StatusOr<Medians> Compare(int repeats, Measure ours, Measure limit);

// The median of one thing alone, after a run that does not count.
absl::StatusOr<double> MedianOf(int repeats, Measure measure);

// The median; 0 of nothing.
double Median(std::vector<double> values);

// A table for people.
std::string ToTable(const std::vector<Line>& lines);

// The same for programs: an array of objects.
std::string ToJson(const std::vector<Line>& lines);

}  // namespace millrace::bench
