#include "millrace/cli/child.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/cli/program_test.h"

namespace millrace::cli {
namespace {

using absl::StatusCode;
using base::StatusIs;

constexpr absl::Duration kLong = absl::Seconds(30);

std::unique_ptr<Child> Shell(const std::string& script) {
  return Child::Start({"sh", "-c", script}, {}).value();
}

std::string WaitFor(Child& child) {
  EXPECT_THAT(child.ReadLine(kLong), StatusIs(StatusCode::kUnavailable));
  while (!child.Ended()) usleep(1000);
  return *child.Ended();
}

TEST(ChildTest, ItsLinesAreReadOneByOne) {
  const std::unique_ptr<Child> child = Shell("printf 'one\\ntwo\\nthr'; exit 3");
  EXPECT_EQ(*child->ReadLine(kLong), "one");
  EXPECT_EQ(*child->ReadLine(kLong), "two");
  EXPECT_EQ(WaitFor(*child), "ended with exit code 3");
}

TEST(ChildTest, WhoIsSilentIsNotWaitedForLongerThanSaid) {
  const std::unique_ptr<Child> child = Shell("exec sleep 600");
  EXPECT_THAT(child->ReadLine(absl::Milliseconds(5)),
              StatusIs(StatusCode::kDeadlineExceeded));
  EXPECT_FALSE(child->Ended().has_value());
}

TEST(ChildTest, EndsWhenItIsAskedTo) {
  const std::unique_ptr<Child> child = Shell("echo here; exec sleep 600");
  EXPECT_EQ(*child->ReadLine(kLong), "here");
  child->Ask();
  while (!child->Ended()) usleep(1000);
  EXPECT_EQ(*child->Ended(), base::StrCat("was ended by signal ", SIGTERM));
}

TEST(ChildTest, HasNotTheVariablesThatAreKeptFromIt) {
  setenv("MILLRACE_CHILD_TEST", "x", 1);        // NOLINT(concurrency-mt-unsafe)
  setenv("MILLRACE_CHILD_TEST_OTHER", "y", 1);  // NOLINT(concurrency-mt-unsafe)
  const auto child = Child::Start(
      {"sh", "-c", "echo \"$MILLRACE_CHILD_TEST-$MILLRACE_CHILD_TEST_OTHER\""},
      {"MILLRACE_CHILD_TEST"});
  EXPECT_EQ(*(*child)->ReadLine(kLong), "-y");
}

TEST(ChildTest, AProgramThatIsNotThereEndsAtOnce) {
  const auto child = Child::Start({"/nowhere/program"}, {});
  EXPECT_EQ(WaitFor(**child), "ended with exit code 127");
}

TEST(ChildTest, ThisProgramIsWhatStartedIt) {
  EXPECT_EQ(ThisProgram(testing::internal::GetArgvs().size()).size(), 1);
}

}  // namespace
}  // namespace millrace::cli
