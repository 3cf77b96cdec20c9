#include "millrace/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "millrace/base/log.h"
#include "millrace/base/text.h"

namespace millrace::base {

CheckFailure::CheckFailure(const char* file, int line, std::string condition)
    : file_(file), line_(line), condition_(std::move(condition)) {}

CheckFailure::~CheckFailure() {
  std::string report = StrCat(file_, ":", line_, ": check failed: ", condition_);
  const std::string extra = extra_.str();
  if (!extra.empty()) absl::StrAppend(&report, " ", extra);
  report += '\n';
  // Straight to stderr first: the logger may be what is broken.
  std::fputs(report.c_str(), stderr);
  std::fflush(stderr);
  FlushLogs();
  std::abort();
}

}  // namespace millrace::base
