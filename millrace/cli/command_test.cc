// The command as people use it: the real program, in a process of its own.

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/cli/program_test.h"

namespace millrace::cli {
namespace {

// What it prints, given arguments and standard input.
std::string Millrace(const std::string& arguments, const std::string& input) {
  const std::string file = base::StrCat(testing::TempDir(), "command_test_input");
  std::ofstream(file, std::ios::binary) << input;
  const std::string output = OutputOf(
      base::StrCat(ProgramFolder(), "/millrace ", arguments, " 2>&1 < '", file, "'"));
  std::filesystem::remove(file);
  return output;
}

// A case's first line is what follows `millrace`; the rest is standard input.
TEST(CommandTest, SaysWhatTheGoldenFileSays) {
  EXPECT_THAT(base::CheckGolden(
                  base::SourcePath("millrace/cli/testdata/command.golden"),
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
  const std::string path = base::SourcePath("docs/operators.md");
  const std::string wanted = Millrace("list --markdown", "");
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (std::getenv("MILLRACE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << wanted;
  std::ifstream in(path);
  const std::string found(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(found, wanted) << "run: make golden";
}

// The example among the documents, as the command loads it.
std::string Words(const std::string& arguments, const std::string& input) {
  return Millrace(base::StrCat("--plugin ", ProgramFolder(), "/words.so ", arguments),
                  input);
}

TEST(CommandTest, APluginRunsTheSameHoweverItRuns) {
  const std::string pipeline =
      "%0 = range(stop=30000)\n"
      "%1 = map(%0, function={value: .value, code: soundex(text_join(\"x\", "
      "where(.value % 7 < 3, \"m\", \"t\"))), unread: soundex(\"Robert\")})\n"
      "%2 = run_lengths(%1, field=\"code\")\n"
      "%3 = map(%2, function={value: .value, length: .length, code: .code, r: "
      "uniform(0.0, 1.0)})\n"
      "%4 = batch(%3, size=1000)\n";
  const std::string wanted = Words("run - --quiet --show 20 --threads 1", pipeline);
  EXPECT_THAT(wanted, testing::HasSubstr("8572 rows in 9 blocks"));
  EXPECT_THAT(wanted, testing::HasSubstr("X500"));
  EXPECT_EQ(Words("run - --quiet --show 20 --threads 4", pipeline), wanted);
  EXPECT_EQ(Words("run - --quiet --show 20 --threads 4 --off all", pipeline), wanted);
}

TEST(CommandTest, APluginHoldsForAllVerbs) {
  const std::string pipeline =
      "%0 = range(stop=9)\n%1 = run_lengths(%0, field=\"value\")\n";
  EXPECT_THAT(Words("list soundex", ""), testing::StartsWith("soundex(x)\n"));
  EXPECT_THAT(Words("list", ""), testing::HasSubstr("\n  run_lengths  "));
  EXPECT_THAT(Words("explain -", pipeline),
              testing::HasSubstr("{value: int64, length: int64}"));
  EXPECT_THAT(Words("profile -", pipeline), testing::HasSubstr("run_lengths"));
  EXPECT_THAT(
      Millrace(base::StrCat("explain - --plugin ", ProgramFolder(), "/words.so"),
               pipeline),
      testing::HasSubstr("{value: int64, length: int64}"));
}

TEST(CommandTest, APluginThatIsNoneIsNamed) {
  EXPECT_EQ(Millrace("--plugin nowhere.so list", ""),
            "millrace: plug-in nowhere.so: there is no such file\nexit code 1");
  EXPECT_THAT(Words("--plugin nowhere.so list", ""),
              testing::HasSubstr("plug-in nowhere.so: there is no such file"));
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
