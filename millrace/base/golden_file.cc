#include "millrace/base/golden_file.h"

#include <cstdlib>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::base {
namespace {

constexpr std::string_view kName = "--- ";
constexpr std::string_view kArrow = "=>";

std::string WithoutLastLineFeeds(std::string_view text) {
  const size_t last = text.find_last_not_of('\n');
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

bool IsArrow(std::string_view line) {
  return line == kArrow || line.starts_with("=> ");
}

// Reads line by line into the part that is being filled.
class GoldenParser {
 public:
  absl::Status TakeLine(std::string_view line) {
    if (line.starts_with(kName)) return BeginCase(line.substr(kName.size()));
    if (golden_.cases.empty()) {
      golden_.preface += StrCat(line, "\n");
    } else if (IsArrow(line) && !behind_arrow_) {
      behind_arrow_ = true;
      if (line != kArrow) AddTo(golden_.cases.back().after, line.substr(3));
    } else if (behind_arrow_) {
      AddTo(golden_.cases.back().after, line);
    } else {
      AddTo(golden_.cases.back().before, line);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<GoldenCases> Finish() {
    if (golden_.cases.empty()) return absl::InvalidArgumentError("there are no cases");
    golden_.preface = WithoutLastLineFeeds(golden_.preface);
    for (GoldenCase& made : golden_.cases) {
      made.before = WithoutLastLineFeeds(made.before);
      made.after = WithoutLastLineFeeds(made.after);
    }
    return std::move(golden_);
  }

 private:
  static void AddTo(std::string& part, std::string_view line) {
    part += StrCat(line, "\n");
  }

  absl::Status BeginCase(std::string_view name) {
    if (!names_.insert(std::string(name)).second) {
      return absl::InvalidArgumentError(StrCat("two cases have one name: ", name));
    }
    golden_.cases.push_back({.name = std::string(name), .before = "", .after = ""});
    behind_arrow_ = false;
    return absl::OkStatus();
  }

  GoldenCases golden_;
  absl::flat_hash_set<std::string> names_;
  bool behind_arrow_ = false;
};

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError("the file cannot be read");
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

absl::Status WriteFile(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError("the file cannot be written");
}

bool IsUpdate() {
  // Tests read the environment before they start threads.
  const char* wish = std::getenv("MILLRACE_UPDATE_GOLDEN");  // NOLINT(concurrency-*)
  return wish != nullptr && std::string_view(wish) == "1";
}

// Some results cannot stand in a golden file: a line of theirs looks like a part of it.
absl::Status Update(const std::string& path, const GoldenCases& found) {
  const std::string text = PrintGolden(found);
  const absl::StatusOr<GoldenCases> read = ParseGolden(text);
  if (!read.ok() || *read != found) {
    return absl::InvalidArgumentError(
        "a result cannot stand in a golden file: a line of it begins with --- or =>");
  }
  return WriteFile(path, text);
}

absl::Status Compare(const GoldenCases& wanted, const GoldenCases& found) {
  std::string differences;
  for (size_t i = 0; i < wanted.cases.size(); ++i) {
    const GoldenCase& want = wanted.cases[i];
    const GoldenCase& find = found.cases[i];
    if (want == find) continue;
    differences += StrCat("\n--- ", want.name, "\n", want.before, "\nwanted:\n",
                          want.after, "\ncame out:\n", find.after, "\n");
  }
  if (differences.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(StrCat(
      "not what the golden file says; if it should be, run make golden", differences));
}

absl::Status CheckGoldenFile(const std::string& path,
                             absl::FunctionRef<std::string(const GoldenCase&)> run) {
  const GoldenCases wanted = TRY(ParseGolden(TRY(ReadFile(path))));
  GoldenCases found = wanted;
  for (GoldenCase& made : found.cases) made.after = WithoutLastLineFeeds(run(made));
  return IsUpdate() ? Update(path, found) : Compare(wanted, found);
}

}  // namespace

std::string SourcePath(std::string_view path) {
  return StrCat(MILLRACE_SOURCE_DIR, "/", path);
}

absl::StatusOr<GoldenCases> ParseGolden(std::string_view text) {
  GoldenParser parser;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    TRY(parser.TakeLine(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parser.Finish();
}

std::string PrintGolden(const GoldenCases& golden) {
  std::string text = golden.preface.empty() ? "" : StrCat(golden.preface, "\n\n");
  bool first = true;
  for (const GoldenCase& printed : golden.cases) {
    const bool one_line = printed.after.find('\n') == std::string::npos;
    text += StrCat(first ? "" : "\n", kName, printed.name, "\n", printed.before,
                   printed.before.empty() ? "" : "\n", kArrow,
                   !one_line               ? "\n"
                   : printed.after.empty() ? ""
                                           : " ",
                   printed.after, "\n");
    first = false;
  }
  return text;
}

absl::Status CheckGolden(const std::string& path,
                         absl::FunctionRef<std::string(const GoldenCase&)> run) {
  return Annotate(CheckGoldenFile(path, run), path);
}

}  // namespace millrace::base
