#include "millrace/base/golden_file.h"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is of POSIX.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::base {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kGolden =
    "# What shouting gives.\n"
    "\n"
    "--- a word\n"
    "abc\n"
    "=> ABC\n"
    "\n"
    "--- two lines\n"
    "one\n"
    "\n"
    "two\n"
    "=>\n"
    "ONE\n"
    "\n"
    "TWO\n"
    "\n"
    "--- nothing\n"
    "=>\n";

std::string Shout(const GoldenCase& given) {
  std::string shouted = given.before;
  for (char& c : shouted) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return shouted;
}

std::string WriteTemporary(std::string_view name, std::string_view text) {
  std::string path = StrCat(testing::TempDir(), name);
  std::ofstream(path) << text;
  return path;
}

std::string Read(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

// Sets the wish to update for as long as it lives, and puts back what was there.
class Updating {
 public:
  explicit Updating(const char* wish) {
    const char* before = std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe)
    if (before != nullptr) before_ = before;
    setenv(kVariable, wish, 1);  // NOLINT(concurrency-mt-unsafe)
  }

  Updating(const Updating&) = delete;
  Updating& operator=(const Updating&) = delete;

  ~Updating() { setenv(kVariable, before_.c_str(), 1); }  // NOLINT(concurrency-*)

 private:
  static constexpr const char* kVariable = "MILLRACE_UPDATE_GOLDEN";
  std::string before_;
};

TEST(GoldenFileTest, ReadsCasesByName) {
  const auto golden = ParseGolden(kGolden);
  ASSERT_THAT(golden, IsOk());
  EXPECT_EQ(golden->preface, "# What shouting gives.");
  ASSERT_EQ(golden->cases.size(), 3);
  EXPECT_EQ(golden->cases[0], (GoldenCase{"a word", "abc", "ABC"}));
  EXPECT_EQ(golden->cases[1], (GoldenCase{"two lines", "one\n\ntwo", "ONE\n\nTWO"}));
  EXPECT_EQ(golden->cases[2], (GoldenCase{"nothing", "", ""}));
}

TEST(GoldenFileTest, WritesWhatItRead) {
  const auto golden = ParseGolden(kGolden);
  ASSERT_THAT(golden, IsOk());
  EXPECT_EQ(PrintGolden(*golden), kGolden);
}

TEST(GoldenFileTest, ACaseMayStillLackItsResult) {
  EXPECT_THAT(ParseGolden("--- new\nabc\n--- next\n=> x"),
              IsOkAndHolds(GoldenCases{"", {{"new", "abc", ""}, {"next", "", "x"}}}));
}

TEST(GoldenFileTest, AnArrowInsideALineIsText) {
  EXPECT_THAT(ParseGolden("--- a\nx => y\n=>y\n=> z => w\n=> v\n"),
              IsOkAndHolds(GoldenCases{"", {{"a", "x => y\n=>y", "z => w\n=> v"}}}));
}

TEST(GoldenFileTest, RefusesFilesWithoutCasesAndNamesUsedTwice) {
  EXPECT_THAT(ParseGolden(""),
              StatusIs(absl::StatusCode::kInvalidArgument, "there are no cases"));
  EXPECT_THAT(ParseGolden("# Only this.\n"), Not(IsOk()));
  EXPECT_THAT(ParseGolden("--- a\n=> b\n--- a\n=> c\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one name: a")));
}

TEST(GoldenFileTest, PassesWhenAllComesOutAsWritten) {
  const Updating no("0");
  EXPECT_THAT(CheckGolden(WriteTemporary("same.golden", kGolden), Shout), IsOk());
}

TEST(GoldenFileTest, LineFeedsAtTheEndDoNotCount) {
  const Updating no("0");
  const std::string path = WriteTemporary("feeds.golden", kGolden);
  const auto shout = [](const GoldenCase& given) { return Shout(given) + "\n\n"; };
  EXPECT_THAT(CheckGolden(path, shout), IsOk());
}

TEST(GoldenFileTest, ShowsEveryCaseThatDiffers) {
  const Updating no("0");
  const std::string path =
      WriteTemporary("wrong.golden", "--- right\na\n=> A\n--- wrong\nb\n=> C\n");
  EXPECT_THAT(CheckGolden(path, Shout),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(path), HasSubstr("make golden"),
                             HasSubstr("--- wrong\nb\nwanted:\nC\ncame out:\nB\n"),
                             Not(HasSubstr("--- right")))));
}

TEST(GoldenFileTest, RewritesTheFileWhenAsked) {
  const Updating yes("1");
  const std::string path =
      WriteTemporary("update.golden", "# Kept.\n\n--- new\na\nb\n--- wrong\nc\n=> D\n");
  EXPECT_THAT(CheckGolden(path, Shout), IsOk());
  EXPECT_EQ(Read(path), "# Kept.\n\n--- new\na\nb\n=>\nA\nB\n\n--- wrong\nc\n=> C\n");
}

TEST(GoldenFileTest, LeavesTheFileAloneWhenAResultCannotStandInIt) {
  const Updating yes("1");
  const std::string path = WriteTemporary("odd.golden", kGolden);
  const auto odd = [](const GoldenCase& /*given*/) { return "x\n--- y"; };
  EXPECT_THAT(CheckGolden(path, odd),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot stand")));
  EXPECT_EQ(Read(path), kGolden);
}

TEST(GoldenFileTest, NamesAFileThatIsNotThere) {
  EXPECT_THAT(CheckGolden("/nowhere/x.golden", Shout),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere/x.golden")));
}

}  // namespace
}  // namespace millrace::base
