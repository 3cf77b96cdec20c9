// Regular expressions of RE2: time linear in the text, whatever the pattern, and memory
// bounded. Each thread keeps the few patterns that it used last, because kernels are
// called once per block and keep no state. Strings are matched by characters, bytes by
// bytes.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "re2/re2.h"

namespace millrace::kernels {

enum class PatternOf { kStrings, kBytes };

// Tells what is wrong with a pattern, in RE2's words.
absl::Status CheckPattern(const std::string& pattern, PatternOf of);

// Gives a compiled pattern, valid until this thread asks for some others.
// Requires: CheckPattern found nothing.
const re2::RE2& CompiledPattern(const std::string& pattern, PatternOf of);

}  // namespace millrace::kernels
