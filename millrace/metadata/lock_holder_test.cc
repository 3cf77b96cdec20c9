#include "millrace/metadata/lock_holder.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "gtest/gtest.h"

#include "millrace/base/temporary_folder.h"
#include "millrace/metadata/folder_test.h"

namespace millrace::metadata {
namespace {

TEST(LockHolderTest, FindsTheProcessThatHasTheFile) {
  const std::string locks =
      "1: POSIX  ADVISORY  READ 708 08:01:12 1073741826 1073742335\n"
      "2: FLOCK  ADVISORY  WRITE 9 fd:00:131 0 EOF\n"
      "3: -> POSIX  ADVISORY  WRITE 10 fd:01:131 0 EOF\n"
      "4: POSIX  ADVISORY  WRITE 0 fd:01:131 0 EOF\n"
      "5: POSIX  ADVISORY  WRITE 11 fd:01:131 0 EOF\n";
  EXPECT_EQ(ProcessInLocks(locks, "08:01:12"), 708);
  EXPECT_EQ(ProcessInLocks(locks, "fd:00:131"), 9);
  EXPECT_EQ(ProcessInLocks(locks, "fd:01:131"), 11);  // Not one who waits, nor nobody.
  EXPECT_EQ(ProcessInLocks(locks, "fd:01:13"), std::nullopt);
  EXPECT_EQ(ProcessInLocks("", "fd:01:131"), std::nullopt);
  EXPECT_EQ(ProcessInLocks("5: POSIX  ADVISORY\n\n", "fd:01:131"), std::nullopt);
}

TEST(LockHolderTest, KnowsItsOwnProcess) {
  const StoreFolder folder;
  EXPECT_EQ(LockHolder(folder.file()), "another process");
  base::WriteFile(folder.file(), "content");
  EXPECT_EQ(LockHolder(folder.file()), "another process");
  const int descriptor = open(folder.file().c_str(), O_RDWR | O_CLOEXEC);
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(descriptor, F_SETLK, &whole), 0);
  EXPECT_EQ(LockHolder(folder.file()), "this process");
  close(descriptor);
}

}  // namespace
}  // namespace millrace::metadata
