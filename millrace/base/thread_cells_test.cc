#include "millrace/base/thread_cells.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <stop_token>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace::base {
namespace {

using testing::ElementsAre;

TEST(ThreadCellsTest, StartAtZero) {
  EXPECT_THAT(ThreadCells(3).Sum(), ElementsAre(0, 0, 0));
  EXPECT_DEATH(ThreadCells(0), "width > 0");
}

TEST(ThreadCellsTest, CountApart) {
  ThreadCells cells(2);
  ThreadCells others(1);
  cells.Add(0, 5);
  cells.Add(1, 7);
  cells.Add(0, 1);
  others.Add(0, 100);
  EXPECT_THAT(cells.Sum(), ElementsAre(6, 7));
  EXPECT_THAT(others.Sum(), ElementsAre(100));
}

TEST(ThreadCellsTest, WrapAround) {
  ThreadCells cells(1);
  cells.Add(0, ~uint64_t{0});
  cells.Add(0, 2);
  EXPECT_THAT(cells.Sum(), ElementsAre(1));
}

TEST(ThreadCellsTest, RefuseAnIndexOutside) {
  ThreadCells cells(2);
  EXPECT_DEATH(cells.Add(2, 1), "index < width_");
}

TEST(ThreadCellsTest, KeepWhatFinishedThreadsCounted) {
  ThreadCells cells(1);
  cells.Add(0, 1);
  for (int i = 0; i < 10; ++i) {
    std::jthread([&] { cells.Add(0, 10); }).join();
    EXPECT_THAT(cells.Sum(), ElementsAre(1 + 10 * (i + 1)));
  }
}

TEST(ThreadCellsTest, SeeWhatLivingThreadsCounted) {
  ThreadCells cells(1);
  std::atomic<bool> counted = false;
  std::atomic<bool> done = false;
  const std::jthread counter([&] {
    cells.Add(0, 10);
    counted = true;
    counted.notify_one();
    done.wait(false);
  });
  counted.wait(false);
  EXPECT_THAT(cells.Sum(), ElementsAre(10));
  done = true;
  done.notify_one();
}

TEST(ThreadCellsTest, LeaveNothingToThoseThatTakeTheirPlace) {
  for (uint64_t i = 0; i < 100; ++i) {
    ThreadCells cells(1);
    cells.Add(0, i);
    std::jthread([&] { cells.Add(0, i); }).join();
    EXPECT_THAT(cells.Sum(), ElementsAre(2 * i));
  }
}

TEST(ThreadCellsTest, MayEndBeforeTheThreadsThatUsedThem) {
  std::optional<ThreadCells> cells(1);
  std::atomic<int> step = 0;
  std::jthread counter([&] {
    cells->Add(0, 1);
    step = 1;
    step.notify_one();
    step.wait(1);
  });
  step.wait(0);
  cells.reset();
  cells.emplace(2);  // Takes the same slot, which the thread still has cells for.
  step = 2;
  step.notify_one();
  counter.join();
  EXPECT_THAT(cells->Sum(), ElementsAre(0, 0));
}

// Counts in the destructor of a thread-local object, after the thread's cells are gone.
struct LateCounter {
  ThreadCells* cells = nullptr;

  ~LateCounter() {
    if (cells != nullptr) cells->Add(0, 1);
  }
};

TEST(ThreadCellsTest, CountAlsoWhileAThreadEnds) {
  ThreadCells cells(1);
  std::jthread([&] {
    static thread_local LateCounter late;  // Made first, so destroyed last.
    late.cells = &cells;
    cells.Add(0, 1);
  }).join();
  EXPECT_THAT(cells.Sum(), ElementsAre(2));
}

TEST(ThreadCellsTest, MayBeMany) {
  std::vector<std::unique_ptr<ThreadCells>> many;
  many.reserve(1000);
  for (int i = 0; i < 1000; ++i) many.push_back(std::make_unique<ThreadCells>(1));
  std::jthread([&] {
    for (const auto& each : std::views::reverse(many)) each->Add(0, 3);
  }).join();
  for (const auto& each : many) {
    each->Add(0, 4);
    EXPECT_THAT(each->Sum(), ElementsAre(7));
  }
}

// Threads come and go, objects come and go, and sums are taken all the while.
TEST(ThreadCellsTest, AreExactHoweverThreadsComeAndGo) {
  constexpr int kAdds = 2000;
  ThreadCells lasting(2);
  std::jthread reader([&](const std::stop_token& stop) {
    uint64_t last = 0;
    while (!stop.stop_requested()) {
      const uint64_t now = lasting.Sum()[0];
      EXPECT_GE(now, last);
      last = now;
    }
  });
  for (int round = 0; round < 10; ++round) {
    ThreadCells passing(1);
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int add = 0; add < kAdds; ++add) {
          lasting.Add(0, 1);
          lasting.Add(1, 3);
          passing.Add(0, 1);
        }
      });
    }
    threads.clear();
    EXPECT_THAT(passing.Sum(), ElementsAre(4 * kAdds));
  }
  reader.request_stop();
  reader.join();
  EXPECT_THAT(lasting.Sum(), ElementsAre(40 * kAdds, 3 * 40 * kAdds));
}

}  // namespace
}  // namespace millrace::base
