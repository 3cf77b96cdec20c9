#include "millrace/cli/service_manager.h"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/cli/notify_socket_test.h"
#include "millrace/cli/variable_test.h"

namespace millrace::cli {
namespace {

TEST(ServiceManagerTest, IsToldThatTheProcessIsReadyAndThatItEnds) {
  const base::TemporaryFolder folder;
  NotifySocket socket(folder / "notify");
  const Variable variable("NOTIFY_SOCKET", socket.path());
  ServiceManager manager;
  manager.Ready("listens on 127.0.0.1:1");
  EXPECT_EQ(socket.Receive(), "READY=1\nSTATUS=listens on 127.0.0.1:1");
  manager.Ending();
  EXPECT_EQ(socket.Receive(), "STOPPING=1\nSTATUS=ending");
}

TEST(ServiceManagerTest, ItsSocketMayBeANameInsteadOfAFile) {
  const std::string name = base::StrCat("@millrace-notify-", getpid());
  NotifySocket socket(name);
  const Variable variable("NOTIFY_SOCKET", name);
  ServiceManager().Ready("");
  EXPECT_EQ(socket.Receive(), "READY=1\nSTATUS=");
}

TEST(ServiceManagerTest, TheWatchdogIsToldTwiceInItsTime) {
  const base::TemporaryFolder folder;
  NotifySocket socket(folder / "notify");
  const Variable variable("NOTIFY_SOCKET", socket.path());
  const Variable time("WATCHDOG_USEC", "20000000");
  const Variable process("WATCHDOG_PID", base::StrCat(getpid()));
  ServiceManager manager;
  EXPECT_TRUE(manager.IsDue(absl::Seconds(100)));
  EXPECT_FALSE(manager.IsDue(absl::Seconds(100)));
  EXPECT_FALSE(manager.IsDue(absl::Seconds(109)));
  EXPECT_TRUE(manager.IsDue(absl::Seconds(110)));
  manager.Alive();
  EXPECT_EQ(socket.Receive(), "WATCHDOG=1");
}

TEST(ServiceManagerTest, TheWatchdogOfAnotherIsNotTold) {
  const Variable variable("NOTIFY_SOCKET", "/nowhere");
  EXPECT_FALSE(ServiceManager().IsDue(absl::Seconds(100))) << "there is none";
  const Variable time("WATCHDOG_USEC", "20000000");
  EXPECT_TRUE(ServiceManager().IsDue(absl::Seconds(100)));
  const Variable process("WATCHDOG_PID", base::StrCat(getpid() + 1));
  EXPECT_FALSE(ServiceManager().IsDue(absl::Seconds(100)));
}

TEST(ServiceManagerTest, WhereThereIsNoneNothingIsSaid) {
  ServiceManager manager;
  manager.Ready("");
  manager.Alive();
  manager.Ending();
  EXPECT_FALSE(manager.IsDue(absl::Seconds(100)));
  const Variable gone("NOTIFY_SOCKET", "/nowhere/notify");
  ServiceManager().Ready("");
}

}  // namespace
}  // namespace millrace::cli
