#include "millrace/storage/glob.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::storage {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(GlobTest, BracesStandForEachChoice) {
  EXPECT_THAT(ExpandBraces("a{b,c}d"), IsOkAndHolds(ElementsAre("abd", "acd")));
  EXPECT_THAT(ExpandBraces("{,x}y"), IsOkAndHolds(ElementsAre("y", "xy")));
  EXPECT_THAT(ExpandBraces("{a,b}{1,2}"),
              IsOkAndHolds(ElementsAre("a1", "a2", "b1", "b2")));
  EXPECT_THAT(ExpandBraces("{a,{b,c}d}"), IsOkAndHolds(ElementsAre("a", "bd", "cd")));
  EXPECT_THAT(ExpandBraces("plain"), IsOkAndHolds(ElementsAre("plain")));
}

TEST(GlobTest, BracesStandForEachNumber) {
  EXPECT_THAT(ExpandBraces("t-{008..010}.tar"),
              IsOkAndHolds(ElementsAre("t-008.tar", "t-009.tar", "t-010.tar")));
  EXPECT_THAT(ExpandBraces("{9..11}"), IsOkAndHolds(ElementsAre("9", "10", "11")));
  EXPECT_THAT(ExpandBraces("{0..10..2}"), IsOkAndHolds(ElementsAre("{0..10..2}")));
  EXPECT_THAT(ExpandBraces("{2..0}"), IsOkAndHolds(ElementsAre("2", "1", "0")));
  EXPECT_THAT(ExpandBraces("{7..7}"), IsOkAndHolds(ElementsAre("7")));
  EXPECT_THAT(ExpandBraces("{00..1}{a,b}"),
              IsOkAndHolds(ElementsAre("00a", "00b", "01a", "01b")));
}

TEST(GlobTest, BracesThatMeanNothingStayAsTheyAre) {
  for (const char* text : {"{}", "{a}", "{a", "a}", "{a..b}", "{1..}", "\\{a,b\\}"}) {
    EXPECT_THAT(ExpandBraces(text), IsOkAndHolds(ElementsAre(text)));
  }
  EXPECT_THAT(ExpandBraces("{a{1,2}"), IsOkAndHolds(ElementsAre("{a1", "{a2")));
  EXPECT_THAT(ExpandBraces("{x}{1,2}"), IsOkAndHolds(ElementsAre("{x}1", "{x}2")));
}

TEST(GlobTest, BracesStandForSoManyAndNoMore) {
  EXPECT_THAT(ExpandBraces("{0..1048574}"), IsOkAndHolds(SizeIs(1'048'575)));
  for (const char* text :
       {"{0..99999999}", "{0..999}{0..999}{0..999}", "{0..999999999999999999}"}) {
    EXPECT_THAT(ExpandBraces(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("too many paths")));
  }
}

TEST(GlobTest, MatchesStepsAsShellsDo) {
  EXPECT_TRUE(MatchesStep("*", "abc"));
  EXPECT_TRUE(MatchesStep("*.tar", "a.tar"));
  EXPECT_TRUE(MatchesStep("a*b*c", "aXbXbXc"));
  EXPECT_TRUE(MatchesStep("a?c", "abc"));
  EXPECT_TRUE(MatchesStep("[a-c]x[!0-9]", "bxq"));
  EXPECT_TRUE(MatchesStep("[]]", "]"));
  EXPECT_TRUE(MatchesStep("[a-]", "-"));
  EXPECT_TRUE(MatchesStep("a[b", "a[b"));
  EXPECT_TRUE(MatchesStep("\\*", "*"));
  EXPECT_TRUE(MatchesStep("", ""));
  EXPECT_TRUE(MatchesStep("a**", "a"));
  EXPECT_FALSE(MatchesStep("a?c", "ac"));
  EXPECT_FALSE(MatchesStep("*.tar", "a.tar.gz"));
  EXPECT_FALSE(MatchesStep("[!a]", "a"));
  EXPECT_FALSE(MatchesStep("\\*", "x"));
  EXPECT_FALSE(MatchesStep("abc", "ab"));
  EXPECT_FALSE(MatchesStep("", "a"));
}

TEST(GlobTest, AStarDoesNotMatchHiddenNames) {
  EXPECT_FALSE(MatchesStep("*", ".hidden"));
  EXPECT_FALSE(MatchesStep("?hidden", ".hidden"));
  EXPECT_TRUE(MatchesStep(".*", ".hidden"));
}

TEST(GlobTest, MatchingTakesNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  EXPECT_FALSE(MatchesStep(pattern, std::string(2000, 'a') + "b"));
}

TEST(GlobTest, KnowsPlainPaths) {
  EXPECT_TRUE(IsPlainPath("a/b.tar"));
  EXPECT_TRUE(IsPlainPath("a\\*"));
  EXPECT_FALSE(IsPlainPath("a*"));
  EXPECT_FALSE(IsPlainPath("[a]"));
  EXPECT_EQ(Unescape("a\\*\\\\b"), "a*\\b");
  EXPECT_EQ(Unescape(Escape("a{b}*[c]\\d")), "a{b}*[c]\\d");
}

// A small world: folders, and what is in them.
class GlobFolders {
 public:
  absl::StatusOr<std::vector<std::string>> Match(std::string_view pattern) const {
    auto paths = MatchPattern(pattern, [&](const std::string& folder) {
      const auto found = folders_.find(folder);
      return absl::StatusOr<std::vector<FolderEntry>>(
          found == folders_.end() ? std::vector<FolderEntry>() : found->second);
    });
    if (paths.ok()) std::ranges::sort(*paths);
    return paths;
  }

 private:
  static FolderEntry File(const std::string& name) { return {.name = name}; }

  static FolderEntry Folder(const std::string& name) {
    return {.name = name, .is_folder = true};
  }

  const std::map<std::string, std::vector<FolderEntry>> folders_ = {
      {"", {Folder("data"), File("top.jpg")}},
      {"data/",
       {Folder("cat"),
        Folder("dog"),
        Folder(".git"),
        File("x.txt"),
        {.name = "loop", .is_folder = true, .is_link = true}}},
      {"data/cat/", {File("1.jpg"), File("2.png"), File(".3.jpg"), Folder("deep")}},
      {"data/cat/deep/", {File("4.jpg")}},
      {"data/dog/", {File("5.jpg")}},
      {"data/.git/", {File("6.jpg")}},
      {"data/loop/", {File("7.jpg")}},
      {"/", {Folder("top")}},
      {"/top/", {File("8.jpg")}},
  };
};

TEST(GlobTest, WalksFoldersStepByStep) {
  const GlobFolders folders;
  EXPECT_THAT(
      folders.Match("data/*/*.jpg"),
      IsOkAndHolds(ElementsAre("data/cat/1.jpg", "data/dog/5.jpg", "data/loop/7.jpg")));
  EXPECT_THAT(folders.Match("*.jpg"), IsOkAndHolds(ElementsAre("top.jpg")));
  EXPECT_THAT(folders.Match("data/cat/[12].*"),
              IsOkAndHolds(ElementsAre("data/cat/1.jpg", "data/cat/2.png")));
  EXPECT_THAT(folders.Match("/t*/*.jpg"), IsOkAndHolds(ElementsAre("/top/8.jpg")));
  EXPECT_THAT(folders.Match("data/none/*"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(folders.Match("data/*"), IsOkAndHolds(ElementsAre("data/x.txt")));
}

TEST(GlobTest, TwoStarsMatchAnyNumberOfFolders) {
  const GlobFolders folders;
  EXPECT_THAT(folders.Match("data/**/*.jpg"),
              IsOkAndHolds(ElementsAre("data/cat/1.jpg", "data/cat/deep/4.jpg",
                                       "data/dog/5.jpg")));
  EXPECT_THAT(folders.Match("**/4.jpg"),
              IsOkAndHolds(ElementsAre("data/cat/deep/4.jpg")));
  EXPECT_THAT(folders.Match("data/cat/**"),
              IsOkAndHolds(ElementsAre("data/cat/1.jpg", "data/cat/2.png",
                                       "data/cat/deep/4.jpg")));
}

TEST(GlobTest, AFolderThatCannotBeListedIsAnError) {
  const auto failing = [](const std::string&) {
    return absl::StatusOr<std::vector<FolderEntry>>(absl::UnavailableError("disk"));
  };
  EXPECT_THAT(MatchPattern("a*/b", failing), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace millrace::storage
