// For tests: the command as people use it, the real program, in a process of its own.
#pragma once

#include <stdio.h>  // NOLINT(modernize-deprecated-headers): popen is of POSIX.
#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::cli {

// The folder with the program, which was built beside this test.
inline std::string ProgramFolder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

// What a line of the shell prints, whether on success or failure, and its exit code
// where that is not 0.
inline std::string OutputOf(const std::string& line) {
  FILE* pipe = popen(line.c_str(), "r");  // NOLINT(cert-env33-c)
  CHECK(pipe != nullptr);
  std::string output;
  std::array<char, 4096> part = {};
  while (const size_t size = fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), size);
  }
  const int code = WEXITSTATUS(pclose(pipe));
  return code == 0 ? output : base::StrCat(output, "exit code ", code);
}

}  // namespace millrace::cli
