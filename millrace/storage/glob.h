// Patterns of paths, as shells write them, and what they match:
//
//   train-{000..127}.tar   one path per number, as wide as the wider end
//   {train,val}/*.tar      one pattern per choice; braces may be nested
//   *  ?  [a-z]  [!a-z]    within a step of the path; not a leading dot
//   data/**/*.jpg          any number of folders, none included; not hidden ones
//   \*                     the character itself
//
// A path without * ? [ must exist. Expansion is pure; folders are seen through a
// function that is handed in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace millrace::storage {

inline constexpr int64_t kPatternsMax = int64_t{1} << 20;  // From braces, per pattern.

// Replaces braces by what they stand for, in order. InvalidArgument when that is more
// than kPatternsMax. Braces without a comma or a range stay as they are.
absl::StatusOr<std::vector<std::string>> ExpandBraces(std::string_view pattern);

// Tells whether a name matches one step of a pattern: no slashes in either.
bool MatchesStep(std::string_view pattern, std::string_view name);

// Tells whether a pattern names one path alone.
bool IsPlainPath(std::string_view pattern);

// A plain path without its backslashes.
std::string Unescape(std::string_view pattern);

// The pattern that stands for a path alone, whatever characters are in it.
std::string Escape(std::string_view path);

struct FolderEntry {
  std::string name;
  bool is_folder = false;  // Also when it is a link to one.
  bool is_link = false;    // `**` does not follow links: they may go round in circles.
};

// Lists a folder: "" is where relative paths begin. Nothing when there is no such
// folder.
using ListFolder =
    absl::FunctionRef<absl::StatusOr<std::vector<FolderEntry>>(const std::string&)>;

// Gives the paths of files that a pattern without braces matches, in no order.
absl::StatusOr<std::vector<std::string>> MatchPattern(std::string_view pattern,
                                                      ListFolder list_folder);

}  // namespace millrace::storage
