#include "millrace/adapters/http/socket.h"

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/result_test.h"
#include "millrace/adapters/http/socket_pair_test.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/status_matchers.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

// Nothing here waits on a loop, so that the test's own thread may use the sockets.
class SocketTest : public testing::Test {
 protected:
  ~SocketTest() override {
    near_.Close();
    far_.Close();
    loop_->Stop();
  }

  static Progress Write(Socket& socket, std::string_view text) {
    const iovec piece = {const_cast<char*>(text.data()), text.size()};
    return socket.Write({&piece, 1}).value();
  }

  // What there is, or "<wait>" or "<end>".
  static std::string Read(Socket& socket) {
    std::string text(100, '\0');
    const iovec room = {text.data(), text.size()};
    const Progress progress = socket.Read({&room, 1}).value();
    if (progress.ended) return "<end>";
    return progress.bytes == 0 ? "<wait>" : text.substr(0, progress.bytes);
  }

  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
  std::pair<Socket, Socket> pair_ = SocketPair(loop_, loop_);
  Socket& near_ = pair_.first;
  Socket& far_ = pair_.second;
};

TEST_F(SocketTest, MovesBytesWithoutWaiting) {
  EXPECT_EQ(Read(far_), "<wait>");
  EXPECT_TRUE(far_.IsQuiet());
  EXPECT_EQ(Write(near_, "hello").bytes, 5);
  EXPECT_FALSE(far_.IsQuiet());
  EXPECT_EQ(Read(far_), "hello");
  EXPECT_EQ(Read(far_), "<wait>");
}

TEST_F(SocketTest, ReadsAndWritesInPieces) {
  std::string one = "abc";
  std::string two = "defg";
  const iovec pieces[] = {{one.data(), one.size()}, {two.data(), two.size()}};
  ASSERT_EQ(near_.Write(pieces).value().bytes, 7);
  std::string first(2, '\0');
  std::string second(10, '\0');
  const iovec room[] = {{first.data(), first.size()}, {second.data(), second.size()}};
  ASSERT_EQ(far_.Read(room).value().bytes, 7);
  EXPECT_EQ(first, "ab");
  EXPECT_EQ(second.substr(0, 5), "cdefg");
}

TEST_F(SocketTest, TheEndOfOneSideIsSeenByTheOther) {
  Write(near_, "last");
  near_.EndWriting();
  EXPECT_EQ(Read(far_), "last");
  EXPECT_EQ(Read(far_), "<end>");
  EXPECT_FALSE(far_.IsQuiet());
  EXPECT_EQ(Write(far_, "back").bytes, 4);
  EXPECT_EQ(Read(near_), "back");
}

TEST_F(SocketTest, AFullSocketTakesNoMore) {
  const std::string much(1 << 20, 'x');
  Progress progress = Write(near_, much);
  for (int i = 0; i < 1000 && progress.bytes > 0; ++i) progress = Write(near_, much);
  EXPECT_EQ(progress.bytes, 0);
  EXPECT_TRUE(progress.waits_to_write);
}

TEST_F(SocketTest, AClosedSocketSaysSo) {
  near_.Close();
  EXPECT_FALSE(near_.open());
  const iovec room = {nullptr, 0};
  EXPECT_THAT(near_.Read({&room, 1}), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(near_.Write({&room, 1}), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(SocketTest, ABrokenConnectionNamesThePeer) {
  Write(near_, "unread");
  far_.Close();  // With bytes that were not read: the connection is reset.
  std::string byte(1, 'x');
  const iovec piece = {byte.data(), 1};
  absl::StatusOr<Progress> progress = near_.Read({&piece, 1});
  EXPECT_THAT(progress,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(near_.peer())));
  EXPECT_THAT(near_.peer(), HasSubstr("127.0.0.1:"));
  EXPECT_TRUE(near_.same_host());
}

TEST_F(SocketTest, GoesOnOnAnotherLoop) {
  const auto other = std::make_shared<Loop>();
  Write(near_, "before");
  Result<bool> moved;
  Result<bool> ready;
  auto socket = std::make_shared<Socket>(std::move(far_).MovedTo(other).value());
  EXPECT_EQ(socket->loop(), other);
  EXPECT_EQ(Read(*socket), "before");
  other->Post([&] { socket->Wait(false, [&] { ready.Set(true); }); });
  Write(near_, "after");
  EXPECT_TRUE(ready.Wait());
  EXPECT_EQ(Read(*socket), "after");
  other->Post([&] {
    socket->Close();
    moved.Set(true);
  });
  EXPECT_TRUE(moved.Wait());
  other->Stop();
}

TEST_F(SocketTest, ClosingWakesWhoWaits) {
  Result<bool> woken;
  loop_->Post([&] { near_.Wait(false, [&] { woken.Set(true); }); });
  loop_->Post([&] { near_.Close(); });
  EXPECT_TRUE(woken.Wait());
}

TEST_F(SocketTest, WithoutTlsThereIsNoHandshake) {
  EXPECT_THAT(near_.Handshake(), IsOk());
  EXPECT_EQ(near_.Handshake()->bytes, 1);
}

}  // namespace
}  // namespace millrace::http
