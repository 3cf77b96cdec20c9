#include "millrace/cli/settings.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <CLI/CLI.hpp>

#include "millrace/base/log.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/cli/variable_test.h"

namespace millrace::cli {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A verb with one flag of each kind, parsed as the command does.
class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    command_ = app_.add_subcommand("toy");
    command_->add_option("--some-text", text_)->capture_default_str();
    command_->add_option("--number", number_);
    command_->add_option("--several", several_);
    command_->add_flag("--really", really_);
    command_->add_option("--named", named_)->envname("MILLRACE_ANOTHER_NAME");
    AddSettings(*command_, log_);
  }

  absl::Status Parse(std::vector<std::string> words) {
    words.insert(words.begin(), "toy");
    absl::StatusOr<std::vector<std::string>> all =
        WithSettings(*command_, {"toy", "other"}, std::move(words));
    if (!all.ok()) return all.status();
    std::vector<std::string> reversed(all->rbegin(), all->rend());
    app_.parse(reversed);
    return absl::OkStatus();
  }

  std::string File(const std::string& text) const {
    return folder_.Write("settings.toml", text);
  }

  base::TemporaryFolder folder_;
  CLI::App app_{"", "millrace"};
  CLI::App* command_;
  std::string text_ = "default";
  int number_ = 1;
  std::vector<std::string> several_;
  bool really_ = false;
  std::string named_;
  LogFlags log_;
};

TEST_F(SettingsTest, WithoutAnyTheDefaultsHold) {
  ASSERT_THAT(Parse({}), IsOk());
  EXPECT_EQ(text_, "default");
  EXPECT_THAT(several_, IsEmpty());
}

TEST_F(SettingsTest, EveryFlagIsAVariable) {
  const Variable text("MILLRACE_SOME_TEXT", "a, b");
  const Variable number("MILLRACE_NUMBER", "7");
  const Variable several("MILLRACE_SEVERAL", "x,y");
  const Variable really("MILLRACE_REALLY", "true");
  const Variable named("MILLRACE_ANOTHER_NAME", "n");
  ASSERT_THAT(Parse({}), IsOk());
  EXPECT_EQ(text_, "a, b") << "commas are for those that may come again";
  EXPECT_EQ(number_, 7);
  EXPECT_THAT(several_, ElementsAre("x", "y"));
  EXPECT_TRUE(really_);
  EXPECT_EQ(named_, "n");
}

TEST_F(SettingsTest, AndAKeyOfAFile) {
  const std::string file = File(
      "some-text = \"t\"  # why\nnumber = 7\nseveral = [\"a\", \"b,c\"]\n"
      "really = true\nlog-level = \"debug\"\n");
  ASSERT_THAT(Parse({"--config", file}), IsOk());
  EXPECT_EQ(text_, "t");
  EXPECT_EQ(number_, 7);
  EXPECT_THAT(several_, ElementsAre("a", "b,c"));
  EXPECT_TRUE(really_);
  EXPECT_EQ(log_.level, "debug");
}

TEST_F(SettingsTest, AFileHasSectionsForVerbs) {
  const std::string file =
      File("number = 7\n[other]\nunknown = 1\nnumber = 9\n[toy]\nsome-text = t\n");
  ASSERT_THAT(Parse({"--config=" + file}), IsOk());
  EXPECT_EQ(number_, 7);
  EXPECT_EQ(text_, "t");
}

TEST_F(SettingsTest, AFileMayBeNamedByAVariable) {
  const Variable config("MILLRACE_CONFIG", File("number = 7\n"));
  ASSERT_THAT(Parse({}), IsOk());
  EXPECT_EQ(number_, 7);
}

TEST_F(SettingsTest, WhatIsCloserToTheUserCounts) {
  const std::string file =
      File("number = 3\nsome-text = \"file\"\nseveral = [\"file\"]\nreally = true\n");
  {
    const Variable number("MILLRACE_NUMBER", "2");
    const Variable several("MILLRACE_SEVERAL", "variable");
    ASSERT_THAT(Parse({"--some-text=flag", "--config", file}), IsOk());
    EXPECT_EQ(text_, "flag");
    EXPECT_EQ(number_, 2);
    EXPECT_THAT(several_, ElementsAre("variable"));
    ASSERT_THAT(Parse({"--number", "1", "--several", "flag", "--really=false",
                       "--config", file}),
                IsOk());
  }
  EXPECT_EQ(number_, 1);
  EXPECT_THAT(several_, ElementsAre("flag"));
  EXPECT_FALSE(really_);
  EXPECT_EQ(text_, "file");
}

TEST_F(SettingsTest, AKeyThatIsNoFlagIsNamedWithItsFile) {
  const std::string file = File("numbre = 3\n");
  EXPECT_THAT(Parse({"--config", file}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(file), HasSubstr("knows no key numbre"),
                             HasSubstr("number really several some-text"))));
  File("[toy]\nnumbre = 3\n");
  EXPECT_THAT(Parse({"--config", file}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("toy.numbre")));
  File("[tyo]\nnumber = 3\n");
  EXPECT_THAT(Parse({"--config", file}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("[tyo]"), HasSubstr("toy other"))));
  File("config = \"another\"\n");
  EXPECT_THAT(Parse({"--config", file}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("config")));
}

TEST_F(SettingsTest, AFileThatIsMissingIsNamed) {
  EXPECT_THAT(Parse({"--config", "nowhere.toml"}),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere.toml")));
}

TEST_F(SettingsTest, HelpNamesTheVariables) {
  const std::string help = command_->help();
  for (const std::string name : {"SOME_TEXT", "NUMBER", "SEVERAL", "REALLY",
                                 "ANOTHER_NAME", "CONFIG", "LOG_LEVEL", "LOG_FORMAT"}) {
    EXPECT_THAT(help, HasSubstr("Env:MILLRACE_" + name));
  }
}

TEST_F(SettingsTest, TheLogIsSetWhereItIsSaid) {
  const base::LogSettings before = base::SetLogSettings(
      {.level = base::LogLevel::kWarning, .format = base::LogFormat::kText});
  ASSERT_THAT(SetLog({.level = "", .format = "json"}), IsOk());
  EXPECT_FALSE(base::LogEnabled(base::LogLevel::kInfo)) << "as it was";
  ASSERT_THAT(SetLog({.level = "debug", .format = ""}), IsOk());
  EXPECT_TRUE(base::LogEnabled(base::LogLevel::kDebug));
  EXPECT_EQ(base::SetLogSettings(before).format, base::LogFormat::kJson);
}

}  // namespace
}  // namespace millrace::cli
