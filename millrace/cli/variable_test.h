// For tests: a variable of the environment, for as long as it lives.
#pragma once

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): of POSIX.

#include <string>
#include <utility>

namespace millrace::cli {

class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }

  ~Variable() { unsetenv(name_.c_str()); }  // NOLINT(concurrency-mt-unsafe)

  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

}  // namespace millrace::cli
