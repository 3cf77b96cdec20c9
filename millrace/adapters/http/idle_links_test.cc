#include "millrace/adapters/http/idle_links.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/result_test.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/socket_pair_test.h"

namespace millrace::http {
namespace {

const Address kAddress = {"worker", 1};

class IdleLinksTest : public testing::Test {
 protected:
  ~IdleLinksTest() override {
    OnLoop([&] {
      for (Socket& socket : far_) socket.Close();
      for (const auto& link : near_) link->Close(absl::CancelledError("the end"));
    });
    loop_->Stop();
    other_->Stop();
  }

  // Runs on the loop's thread, after what was posted before, and waits for it.
  void OnLoop(absl::AnyInvocable<void()> function) {
    Result<bool> before;
    loop_->Post([&] { before.Set(true); });  // What a function posts comes after it.
    before.Wait();
    Result<bool> done;
    loop_->Post([&] {
      function();
      done.Set(true);
    });
    done.Wait();
  }

  std::shared_ptr<Link> NewLink() {
    std::pair<Socket, Socket> pair = SocketPair(loop_, loop_);
    far_.push_back(std::move(pair.second));
    near_.push_back(std::make_shared<Link>(std::move(pair.first)));
    return near_.back();
  }

  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
  const std::shared_ptr<Loop> other_ = std::make_shared<Loop>();
  std::vector<std::shared_ptr<Link>> near_;
  std::vector<Socket> far_;
};

TEST_F(IdleLinksTest, GivesBackWhatWasPut) {
  IdleLinks idle(2, absl::Seconds(60));
  OnLoop([&] {
    const std::shared_ptr<Link> link = NewLink();
    idle.Put(kAddress, link);
    EXPECT_EQ(idle.Take(*loop_, {"worker", 2}), nullptr);
    EXPECT_EQ(idle.Take(*other_, kAddress), nullptr);
    EXPECT_EQ(idle.Take(*loop_, kAddress), link);
    EXPECT_EQ(idle.Take(*loop_, kAddress), nullptr);
  });
}

TEST_F(IdleLinksTest, KeepsFew) {
  IdleLinks idle(2, absl::Seconds(60));
  OnLoop([&] {
    for (int i = 0; i < 5; ++i) idle.Put(kAddress, NewLink());
    idle.Put({"other", 1}, NewLink());
    EXPECT_EQ(idle.size(), 3);
  });
  OnLoop([&] { EXPECT_FALSE(near_[4]->socket().open()); });
}

TEST_F(IdleLinksTest, LeavesOutWhatTheServerClosed) {
  IdleLinks idle(4, absl::Seconds(60));
  OnLoop([&] {
    const std::shared_ptr<Link> good = NewLink();
    idle.Put(kAddress, good);
    idle.Put(kAddress, NewLink());
    far_[1].Close();
    EXPECT_EQ(idle.Take(*loop_, kAddress), good);
    EXPECT_EQ(idle.size(), 0);
  });
}

TEST_F(IdleLinksTest, KeepsNoneForLong) {
  IdleLinks idle(4, absl::ZeroDuration());
  OnLoop([&] {
    idle.Put(kAddress, NewLink());
    EXPECT_EQ(idle.Take(*loop_, kAddress), nullptr);
    EXPECT_EQ(idle.size(), 0);
  });
  OnLoop([&] { EXPECT_FALSE(near_[0]->socket().open()); });
}

TEST_F(IdleLinksTest, ClosesAllInTheEnd) {
  IdleLinks idle(4, absl::Seconds(60));
  OnLoop([&] { idle.Put(kAddress, NewLink()); });
  idle.CloseAll();
  OnLoop([&] {
    EXPECT_FALSE(near_[0]->socket().open());
    idle.Put(kAddress, NewLink());
    EXPECT_EQ(idle.size(), 0);
  });
}

}  // namespace
}  // namespace millrace::http
