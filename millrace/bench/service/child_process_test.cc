#include "millrace/bench/service/child_process.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::bench {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;

// Says back what it hears, with its own number, until nobody speaks.
void Echo(Lines& lines) {
  while (true) {
    const auto line = lines.Hear();
    if (!line.ok()) return;
    lines.Tell(base::StrCat(getpid(), " ", *line)).IgnoreError();
  }
}

TEST(ChildProcessTest, TalksBothWays) {
  const auto child = ChildProcess::Start(Echo);
  ASSERT_THAT(child, IsOk());
  EXPECT_THAT((*child)->lines().Tell("one\ntwo"), IsOk());
  const std::string number = base::StrCat((*child)->process());
  EXPECT_THAT((*child)->lines().Hear(), IsOkAndHolds(number + " one"));
  EXPECT_THAT((*child)->lines().Hear(), IsOkAndHolds(number + " two"));
}

TEST(ChildProcessTest, WhoIsKilledSaysNothingMore) {
  const auto child = ChildProcess::Start(Echo);
  ASSERT_THAT(child, IsOk());
  (*child)->Kill();
  (*child)->Kill();
  EXPECT_THAT((*child)->lines().Hear(), StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT((*child)->lines().Tell("more"), StatusIs(StatusCode::kUnavailable));
}

TEST(ChildProcessTest, WhoIsSilentIsNotWaitedForForever) {
  const auto child = ChildProcess::Start(Echo);
  ASSERT_THAT(child, IsOk());
  EXPECT_THAT((*child)->lines().Hear(absl::Milliseconds(1)),
              StatusIs(StatusCode::kDeadlineExceeded));
}

}  // namespace
}  // namespace millrace::bench
