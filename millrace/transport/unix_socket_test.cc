#include "millrace/transport/unix_socket.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::transport {
namespace {

using base::IsOk;
using base::StatusIs;

std::string Name() {
  static int count = 0;
  return base::StrCat("millrace-test-", getpid(), "-", ++count);
}

struct Pair {
  UnixSocket near;
  UnixSocket far;
};

Pair Connected() {
  const std::string name = Name();
  UnixSocket listener = UnixSocket::Listen(name).value();
  UnixSocket near = UnixSocket::Connect(name).value();
  return {std::move(near), *listener.Accept().value()};
}

int64_t FileOf(int descriptor) {
  struct stat facts = {};
  EXPECT_EQ(fstat(descriptor, &facts), 0);
  return static_cast<int64_t>(facts.st_ino);
}

TEST(UnixSocketTest, MessagesComeWholeAndInOrder) {
  Pair pair = Connected();
  EXPECT_THAT(pair.near.Send("one"), IsOk());
  EXPECT_THAT(pair.near.Send("two"), IsOk());
  EXPECT_EQ(pair.far.Receive()->bytes, "one");
  EXPECT_EQ(pair.far.Receive()->bytes, "two");
  EXPECT_THAT(pair.far.Receive(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(UnixSocketTest, ADescriptorIsTheSameFileAtTheOtherEnd) {
  Pair pair = Connected();
  const base::Descriptor file(memfd_create("test", MFD_CLOEXEC));
  ASSERT_THAT(pair.far.Send("7", file.number()), IsOk());
  ASSERT_THAT(pair.far.Send("8"), IsOk());
  const UnixMessage message = *pair.near.Receive();
  EXPECT_EQ(message.bytes, "7");
  ASSERT_TRUE(message.descriptor.open());
  EXPECT_EQ(FileOf(message.descriptor.number()), FileOf(file.number()));
  EXPECT_NE(fcntl(message.descriptor.number(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_FALSE(pair.near.Receive()->descriptor.open());
}

TEST(UnixSocketTest, BothKnowWhoseProcessTheOtherIs) {
  const Pair pair = Connected();
  EXPECT_EQ(pair.near.PeerUser().value(), geteuid());
  EXPECT_EQ(pair.far.PeerUser().value(), geteuid());
}

TEST(UnixSocketTest, AnotherUserIsToldApart) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string name = Name();
  UnixSocket listener = UnixSocket::Listen(name).value();
  const pid_t child = fork();
  if (child == 0) {
    const bool is_nobody = setresuid(65534, 65534, 65534) == 0;
    const absl::StatusOr<UnixSocket> socket = UnixSocket::Connect(name);
    const bool knows = socket.ok() && socket->PeerUser().value_or(-1) == 0;
    _exit(is_nobody && knows ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ((*listener.Accept())->PeerUser().value(), 65534);
}

TEST(UnixSocketTest, NothingIsLeftOfASocketWhoseProcessWasKilled) {
  const std::string name = Name();
  {
    const UnixSocket listener = UnixSocket::Listen(name).value();
  }
  EXPECT_THAT(UnixSocket::Connect(name), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(UnixSocket::Listen(name), IsOk());
}

TEST(UnixSocketTest, NobodyWaits) {
  const std::string name = Name();
  UnixSocket listener = UnixSocket::Listen(name).value();
  EXPECT_FALSE(listener.Accept().value().has_value());
  UnixSocket near = UnixSocket::Connect(name).value();
  absl::Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i) status = near.Send("x");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
}

TEST(UnixSocketTest, ANameThatNoneCanHaveIsAnError) {
  for (const std::string& name : {std::string(), std::string(200, 'x')}) {
    EXPECT_THAT(UnixSocket::Listen(name), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace millrace::transport
