#include "millrace/transport/machine_identity.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace millrace::transport {
namespace {

TEST(MachineIdentityTest, IsTheSameForAllWhoAskHere) {
  EXPECT_GT(MachineIdentity().size(), 36);
  EXPECT_EQ(MachineIdentity(), MachineIdentity());
}

// A container without the host's network is another machine: no socket leads out of it.
TEST(MachineIdentityTest, ANetworkOfItsOwnIsAnotherMachine) {
  std::string here(512, '\0');
  const ssize_t size = readlink("/proc/self/ns/net", here.data(), here.size());
  ASSERT_GT(size, 0);
  here.resize(size);
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNET) != 0) _exit(2);
    _exit(MachineIdentity().find(here) == std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "needs root";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace millrace::transport
