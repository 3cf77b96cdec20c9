#include "millrace/adapters/http/loop.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/result_test.h"
#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"

namespace millrace::http {
namespace {

using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(LoopTest, RunsWhatIsPostedInOrderOnOneThread) {
  Loop loop;
  std::vector<int> order;  // Of the loop's thread, until it has stopped.
  std::set<std::thread::id> threads;
  for (int i = 0; i < 3; ++i) {
    loop.Post([&, i] {
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
    });
  }
  loop.Stop();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  EXPECT_EQ(threads.size(), 1);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(LoopTest, StoppingRunsWhatFollowsFromWhatWasPosted) {
  Loop loop;
  int runs = 0;
  loop.Post([&] {
    ++runs;
    loop.Post([&] {
      ++runs;
      loop.Post([&] { ++runs; });
    });
  });
  loop.Stop();
  EXPECT_EQ(runs, 3);
}

TEST(LoopTest, DropsWhatComesTooLate) {
  const auto loop = std::make_shared<Loop>();
  loop->Stop();
  const auto held = std::make_shared<int>(7);
  loop->Post([held] { FAIL() << "after the stop"; });
  EXPECT_EQ(held.use_count(), 1);
}

TEST(LoopTest, EndsWithoutBeingStopped) {
  Result<bool> ran;
  {
    Loop loop;
    loop.Post([&] { ran.Set(true); });
    EXPECT_TRUE(ran.Wait());
  }
}

TEST(LoopTest, IsUsedFromManyThreads) {
  std::atomic<int> runs = 0;
  {
    Loop loop;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
          for (int k = 0; k < 1000; ++k) loop.Post([&] { ++runs; });
        });
      }
    }
    loop.Stop();
  }
  EXPECT_EQ(runs, 4000);
}

TEST(LoopTest, LoopsAreGivenInTurn) {
  Loops loops(3);
  const Loop* const first = loops.Next().get();
  EXPECT_NE(loops.Next().get(), first);
  EXPECT_NE(loops.Next().get(), first);
  EXPECT_EQ(loops.Next().get(), first);
  Result<std::thread::id> one;
  Result<std::thread::id> other;
  loops.Next()->Post([&] { one.Set(std::this_thread::get_id()); });
  loops.Next()->Post([&] { other.Set(std::this_thread::get_id()); });
  EXPECT_NE(one.Wait(), other.Wait());
  loops.Stop();
}

// Leaves the process as few descriptors as it has open, while in scope.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = dup(0);  // The lowest that is free.
    close(next);
    const rlimit few = {.rlim_cur = static_cast<rlim_t>(next),
                        .rlim_max = before_.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }

  NoDescriptorLeft(const NoDescriptorLeft&) = delete;
  NoDescriptorLeft& operator=(const NoDescriptorLeft&) = delete;

  ~NoDescriptorLeft() { CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_ = {};
};

TEST(LoopTest, WithoutDescriptorsThereIsAnError) {
  const NoDescriptorLeft none;
  EXPECT_THAT(MakeWithLoops<Loops>(1),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("open files")));
}

}  // namespace
}  // namespace millrace::http
