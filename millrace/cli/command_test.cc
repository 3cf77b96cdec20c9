// The command as people use it: the real program, in a process of its own.

#include <stdio.h>  // NOLINT(modernize-deprecated-headers): popen is of POSIX.
#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/golden_file.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::cli {
namespace {

// The program that was built beside this test.
std::string Program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "millrace";
}

// What it prints, whether on success or failure, and its exit code where that is not 0.
std::string Millrace(const std::string& arguments, const std::string& input) {
  const std::string file = base::StrCat(testing::TempDir(), "command_test_input");
  std::ofstream(file, std::ios::binary) << input;
  const std::string line =
      base::StrCat(Program(), " ", arguments, " 2>&1 < '", file, "'");
  FILE* pipe = popen(line.c_str(), "r");  // NOLINT(cert-env33-c)
  CHECK(pipe != nullptr);
  std::string output;
  std::array<char, 4096> part = {};
  while (const size_t size = fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), size);
  }
  const int code = WEXITSTATUS(pclose(pipe));
  std::filesystem::remove(file);
  return code == 0 ? output : base::StrCat(output, "exit code ", code);
}

// A case's first line is what follows `millrace`; the rest is standard input.
TEST(CommandTest, SaysWhatTheGoldenFileSays) {
  EXPECT_THAT(base::CheckGolden(
                  MILLRACE_SOURCE_DIR "/millrace/cli/testdata/command.golden",
                  [](const base::GoldenCase& the_case) {
                    const size_t end = the_case.before.find('\n');
                    const std::string arguments = the_case.before.substr(0, end);
                    return end == std::string::npos
                               ? Millrace(arguments, "")
                               : Millrace(arguments, the_case.before.substr(end + 1));
                  }),
              base::IsOk());
}

TEST(CommandTest, TheDocumentsListWhatThereIs) {
  const std::string path = MILLRACE_SOURCE_DIR "/docs/operators.md";
  const std::string wanted = Millrace("list --markdown", "");
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (std::getenv("MILLRACE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << wanted;
  std::ifstream in(path);
  const std::string found(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(found, wanted) << "run: make golden";
}

TEST(CommandTest, ExplainReadsAFileAndNamesItInErrors) {
  const std::string file = base::StrCat(testing::TempDir(), "command_test_pipeline");
  std::ofstream(file) << "%0 = range(stop=10)";
  EXPECT_THAT(Millrace("explain " + file, ""), testing::HasSubstr("{value: int64}"));
  std::ofstream(file) << "%0 = range(stop=)";
  EXPECT_THAT(Millrace("explain " + file, ""),
              testing::StartsWith("millrace: " + file + ": line 1, column 17: "));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace millrace::cli
