#include "millrace/adapters/http/link.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/result_test.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/socket_pair_test.h"
#include "millrace/base/status_matchers.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    std::pair<Socket, Socket> pair = SocketPair(loop_, loop_);
    near_ = std::make_shared<Link>(std::move(pair.first));
    far_ = std::make_shared<Link>(std::move(pair.second));
  }

  ~LinkTest() override {
    OnLoop([&] {
      near_->Close(absl::CancelledError("the test ends"));
      far_->Close(absl::CancelledError("the test ends"));
    });
    loop_->Stop();
  }

  // Runs on the loop's thread, and waits for it.
  void OnLoop(absl::AnyInvocable<void()> function) {
    Result<bool> done;
    loop_->Post([&] {
      function();
      done.Set(true);
    });
    done.Wait();
  }

  // Reads until so much is there, or an error.
  void ReadUntil(const std::shared_ptr<Link>& link, size_t size,
                 Result<absl::Status>& result) {
    link->Read([this, link, size, &result](const absl::Status& status) {
      if (status.ok() && link->input().size() < size) {
        return ReadUntil(link, size, result);
      }
      result.Set(status);
    });
  }

  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
  std::shared_ptr<Link> near_;
  std::shared_ptr<Link> far_;
};

TEST_F(LinkTest, WritesAllAndReadsAll) {
  const std::string much(20'000'000, 'x');  // More than the sockets hold.
  Result<absl::Status> written;
  Result<absl::Status> read;
  OnLoop([&] {
    near_->Write(much, [&](const absl::Status& status) { written.Set(status); });
    ReadUntil(far_, much.size(), read);
  });
  EXPECT_THAT(written.Wait(), IsOk());
  EXPECT_THAT(read.Wait(), IsOk());
  OnLoop([&] { EXPECT_TRUE(far_->input() == much); });
}

TEST_F(LinkTest, TellsNothingFromInsideACall) {
  Result<absl::Status> written;
  bool inside = false;
  OnLoop([&] {
    inside = true;
    near_->Write("x", [&](const absl::Status& status) {
      EXPECT_FALSE(inside);
      written.Set(status);
    });
    near_->Handshake([&](const absl::Status&) { EXPECT_FALSE(inside); });
    inside = false;
  });
  EXPECT_THAT(written.Wait(), IsOk());
}

TEST_F(LinkTest, TheOtherSidesEndIsAnError) {
  Result<absl::Status> read;
  OnLoop([&] {
    ReadUntil(far_, 1, read);
    near_->Close(absl::CancelledError("done"));
  });
  EXPECT_THAT(read.Wait(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("127.0.0.1")));
}

TEST_F(LinkTest, ADeadlineEndsWhatIsUnderWay) {
  Result<absl::Status> read;
  OnLoop([&] {
    far_->SetDeadline(absl::Milliseconds(20), absl::DeadlineExceededError("too slow"));
    ReadUntil(far_, 1, read);
  });
  EXPECT_THAT(read.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded, "too slow"));
  Result<absl::Status> again;
  OnLoop([&] { ReadUntil(far_, 1, again); });
  EXPECT_THAT(again.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(LinkTest, OnlyTheLastDeadlineCounts) {
  Result<absl::Status> read;
  OnLoop([&] {
    far_->SetDeadline(absl::ZeroDuration(), absl::DeadlineExceededError("first"));
    far_->SetDeadline(absl::Milliseconds(20), absl::DeadlineExceededError("second"));
    near_->SetDeadline(absl::ZeroDuration(), absl::DeadlineExceededError("cleared"));
    near_->ClearDeadline();
    ReadUntil(far_, 1, read);
  });
  EXPECT_THAT(read.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded, "second"));
  Result<absl::Status> written;
  OnLoop([&] {
    near_->Write("x", [&](const absl::Status& status) { written.Set(status); });
  });
  EXPECT_THAT(written.Wait(), IsOk());
}

TEST_F(LinkTest, TheFirstReasonToCloseStays) {
  Result<absl::Status> read;
  OnLoop([&] {
    ReadUntil(far_, 1, read);
    far_->Close(absl::AbortedError("first"));
    far_->Close(absl::AbortedError("second"));
  });
  EXPECT_THAT(read.Wait(), StatusIs(absl::StatusCode::kAborted, "first"));
}

// Else a loop that is to end would wait for it.
TEST_F(LinkTest, NoDeadlineKeepsWhatIsClosed) {
  std::weak_ptr<Link> closed;
  OnLoop([&] {
    const auto link = std::make_shared<Link>(far_->TakeSocket());
    link->Close(absl::CancelledError("done"));
    link->SetDeadline(absl::Hours(1), absl::DeadlineExceededError("too slow"));
    closed = link;
  });
  OnLoop([&] { EXPECT_TRUE(closed.expired()); });
}

TEST_F(LinkTest, ASocketMayBeTaken) {
  Result<absl::Status> read;
  OnLoop([&] {
    auto kept = std::make_shared<Link>(far_->TakeSocket());
    far_->Read([](const absl::Status& status) { EXPECT_FALSE(status.ok()); });
    far_ = kept;
    near_->Write("hello",
                 [](const absl::Status& status) { EXPECT_THAT(status, IsOk()); });
    ReadUntil(far_, 5, read);
  });
  EXPECT_THAT(read.Wait(), IsOk());
  OnLoop([&] { EXPECT_EQ(far_->input(), "hello"); });
}

}  // namespace
}  // namespace millrace::http
