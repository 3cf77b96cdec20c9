// Golden files: what code should make of given texts, kept beside the test, rewritten
// by one command and reviewed like code. Support for tests of every layer; it reads and
// writes files, so nothing else includes it. A file holds named cases:
//
//   # Comments may stand before the first case.
//
//   --- drops a map that changes nothing
//   %0 = range(stop=10)
//   %1 = map(%0, function={value: .value})
//   =>
//   %0 = range(stop=10)
//
//   --- refuses batches of nothing
//   %0 = batch(size=0)
//   => batch: argument size must be at least 1, not 0
//
// What stands before the arrow is given to the code, what stands behind it, on the same
// line or below, must come out. Empty lines at the end of either do not count. A new
// case needs no arrow: the next update adds it.
//
//   TEST(FuseMapsTest, DoesWhatTheGoldenFileSays) {
//     const std::string path = SourcePath("millrace/rewrite/testdata/...");
//     EXPECT_THAT(CheckGolden(path, [](const GoldenCase& the_case) {
//                   return Rewritten(the_case.before);
//                 }), IsOk());
//   }
//
// With MILLRACE_UPDATE_GOLDEN=1 in the environment (`make golden`) the file is
// rewritten with what came out, and the check passes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::base {

struct GoldenCase {
  std::string name;
  std::string before;  // Given, here and below without line feeds at the end.
  std::string after;   // Wanted.

  friend bool operator==(const GoldenCase&, const GoldenCase&) = default;
};

struct GoldenCases {
  std::string preface;  // The comments before the first case.
  std::vector<GoldenCase> cases;

  friend bool operator==(const GoldenCases&, const GoldenCases&) = default;
};

// Where a file of the project is, by its path from the project's root.
std::string SourcePath(std::string_view path);

// Reads the text of a golden file. No cases, or two of one name, are an error.
absl::StatusOr<GoldenCases> ParseGolden(std::string_view text);

// Writes it.
std::string PrintGolden(const GoldenCases& golden);

// Runs every case of a file and compares. The error names the cases that differ, with
// what was wanted and what came out.
absl::Status CheckGolden(const std::string& path,
                         absl::FunctionRef<std::string(const GoldenCase&)> run);

}  // namespace millrace::base
