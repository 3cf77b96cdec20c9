#include "millrace/kernels/regex/pattern.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "re2/re2.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/ir/shown.h"

namespace millrace::kernels {
namespace {

constexpr int64_t kMemoryMax = int64_t{4} << 20U;  // Of one pattern, with its tables.
constexpr size_t kKept = 8;                        // Patterns of one thread.

re2::RE2::Options OptionsOf(PatternOf of) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMemoryMax);
  if (of == PatternOf::kBytes) {
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
  }
  return options;
}

// Tells whether \C is in a pattern: one byte, be it part of a character.
bool HasSingleByte(const std::string& pattern) {
  for (size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    ++i;  // The next one is escaped, whatever it is.
    if (pattern[i] == 'C') return true;
  }
  return false;
}

struct Kept {
  std::unique_ptr<re2::RE2> compiled;
  PatternOf of = PatternOf::kStrings;
};

}  // namespace

absl::Status CheckPattern(const std::string& pattern, PatternOf of) {
  if (of == PatternOf::kStrings && HasSingleByte(pattern)) {
    return absl::InvalidArgumentError(
        "argument pattern has \\C, which would cut characters of strings; cast them "
        "to bytes");
  }
  const re2::RE2 compiled(pattern, OptionsOf(of));
  if (compiled.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("argument pattern is no regular expression: ", compiled.error(),
                   ": ", ir::Shown(pattern)));
}

const re2::RE2& CompiledPattern(const std::string& pattern, PatternOf of) {
  thread_local std::array<Kept, kKept> kept;
  thread_local size_t oldest = 0;
  for (const Kept& one : kept) {
    const bool same =
        one.compiled != nullptr && one.of == of && one.compiled->pattern() == pattern;
    if (same) return *one.compiled;
  }
  Kept& place = kept[oldest];
  oldest = (oldest + 1) % kKept;
  place.compiled = std::make_unique<re2::RE2>(pattern, OptionsOf(of));
  place.of = of;
  CHECK(place.compiled->ok()) << pattern;
  return *place.compiled;
}

}  // namespace millrace::kernels
