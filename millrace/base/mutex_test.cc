#include "millrace/base/mutex.h"

#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"

namespace millrace::base {
namespace {

struct Guarded {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, LetsOneThreadInAtATime) {
  Guarded guarded;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int step = 0; step < 5000; ++step) {
          MutexLock lock(&guarded.mutex);
          ++guarded.value;
        }
      });
    }
  }
  MutexLock lock(&guarded.mutex);
  EXPECT_EQ(guarded.value, 20'000);
}

TEST(MutexTest, WakesWhoWaitsForAChange) {
  Guarded guarded;
  const std::jthread changer([&] {
    MutexLock lock(&guarded.mutex);
    guarded.value = 1;
    guarded.changed.NotifyOne();
  });
  MutexLock lock(&guarded.mutex);
  while (guarded.value == 0) {
    guarded.changed.WaitUntil(&guarded.mutex, absl::InfiniteFuture());
  }
  EXPECT_EQ(guarded.value, 1);
}

TEST(MutexTest, WakesAllWhoWait) {
  Guarded guarded;
  std::vector<std::jthread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      MutexLock lock(&guarded.mutex);
      while (guarded.value == 0) {
        guarded.changed.WaitUntil(&guarded.mutex, RealClock().Now() + absl::Minutes(1));
      }
    });
  }
  MutexLock lock(&guarded.mutex);
  guarded.value = 1;
  guarded.changed.NotifyAll();
}

TEST(MutexTest, EndsAWaitAtItsDeadline) {
  Guarded guarded;
  MutexLock lock(&guarded.mutex);
  const absl::Time deadline = RealClock().Now() + absl::Milliseconds(5);
  while (guarded.changed.WaitUntil(&guarded.mutex, deadline)) {
  }
  EXPECT_GE(RealClock().Now(), deadline);
  EXPECT_FALSE(guarded.changed.WaitUntil(&guarded.mutex, absl::InfinitePast()));
  EXPECT_FALSE(guarded.changed.WaitUntil(&guarded.mutex, absl::UnixEpoch()));
}

}  // namespace
}  // namespace millrace::base
