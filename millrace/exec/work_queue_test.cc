#include "millrace/exec/work_queue.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "gtest/gtest.h"

#include "millrace/base/mutex.h"
#include "millrace/exec/engine_work.h"
#include "millrace/exec/stage_run.h"

namespace millrace::exec {
namespace {

// Work that has a name, and something to do or nothing.
class Named final : public EngineWork {
 public:
  explicit Named(std::string name) : name(std::move(name)) {}

  bool Claim(bool, Task&) override {
    served += busy ? 1 : 0;
    return busy;
  }

  bool ClaimFetch(bool, Task&) override { return false; }

  void Complete(Task) override {}

  bool HasWork() const override { return busy; }

  bool HasFetch() const override { return busy; }

  void Stop() override {}

  int running() const override { return tasks; }

  bool ready() const override { return false; }

  Urgency urgency() const override { return {needed, counts ? served : 0}; }

  base::CondVar& changed() override { return changed_; }

  const std::string name;
  bool busy = true;
  bool needed = true;
  bool counts = true;  // Else nothing came of it yet, however often it was served.
  int64_t served = 0;
  int tasks = 0;

 private:
  base::CondVar changed_;
};

class WorkQueueTest : public testing::Test {
 protected:
  Named& Add(const std::string& name, const WorkPlace& place) {
    Named& work = works_.emplace_back(name);
    queue_.Add(work, place);
    return work;
  }

  // Whose turns the next ones are: "a b a ".
  std::string Turns(int count) {
    std::string turns;
    for (int i = 0; i < count; ++i) {
      Task task;
      const EngineWork* work = queue_.Pick(
          [&](EngineWork& candidate) { return candidate.Claim(true, task); });
      turns += work == nullptr ? "- " : dynamic_cast<const Named&>(*work).name + " ";
    }
    return turns;
  }

  WorkQueue queue_;
  std::deque<Named> works_;
};

TEST_F(WorkQueueTest, EqualsHaveTheirTurns) {
  Add("a", {});
  Add("b", {});
  Add("c", {});
  EXPECT_EQ(Turns(6), "a b c a b c ");
}

TEST_F(WorkQueueTest, WhoHasNothingToDoIsPassedOver) {
  Add("a", {});
  Named& b = Add("b", {});
  Add("c", {});
  b.busy = false;
  EXPECT_EQ(Turns(4), "a c a c ");
}

TEST_F(WorkQueueTest, WhoWasServedLeastComesFirst) {
  Named& a = Add("a", {});
  Named& b = Add("b", {});
  a.counts = b.counts = false;
  EXPECT_EQ(Turns(3), "a a a ") << "until something came of it";
  a.counts = true;
  EXPECT_EQ(Turns(2), "b b ");
}

TEST_F(WorkQueueTest, NewcomersCountAsWhoWasServedLeast) {
  Add("a", {});
  Add("b", {});
  EXPECT_EQ(Turns(5), "a b a b a ");
  Add("c", {});
  EXPECT_EQ(Turns(6), "b c a b c a ");
}

TEST_F(WorkQueueTest, WhoHadNothingToDoDoesNotMakeUpForIt) {
  Named& a = Add("a", {});
  Add("b", {});
  a.busy = false;
  EXPECT_EQ(Turns(5), "b b b b b ");
  a.busy = true;
  EXPECT_EQ(Turns(6), "a a b a b a ") << "but for one turn";
}

TEST_F(WorkQueueTest, WhoWaitsForATaskOfItsOwnKeepsItsPlace) {
  Named& a = Add("a", {});
  Add("b", {});
  a.busy = false;
  a.tasks = 1;
  EXPECT_EQ(Turns(3), "b b b ");
  a.busy = true;
  EXPECT_EQ(Turns(5), "a a a a b ") << "until it has had as many";
}

TEST_F(WorkQueueTest, WhoComesToBeNeededDoesNotMakeUpForBefore) {
  Add("a", {});
  Named& b = Add("b", {});
  b.needed = false;
  EXPECT_EQ(Turns(4), "a a a a ");
  b.needed = true;
  EXPECT_EQ(Turns(4), "a b a b ");
}

TEST_F(WorkQueueTest, WhatIsMadeAheadComesBehindWhatIsNeeded) {
  Add("a", {});
  Named& b = Add("b", {});
  Add("c", {});
  b.needed = false;
  EXPECT_EQ(Turns(4), "a c a c ");
  works_.front().busy = works_.back().busy = false;
  EXPECT_EQ(Turns(2), "b b ");
  works_.front().busy = works_.back().busy = b.needed = true;
  EXPECT_EQ(Turns(3), "a b c ");
}

TEST_F(WorkQueueTest, OwnersAreServedInTurnWhateverTheyHaveOpen) {
  Add("a", {.owner = 1});
  Add("b", {.owner = 1});
  Add("c", {.owner = 1});
  Add("x", {.owner = 2});
  EXPECT_EQ(Turns(6), "a x b x c x ");
}

TEST_F(WorkQueueTest, WhatIsLaterWaitsForAllThatIsEarlier) {
  Add("next", {.owner = 1, .stage = 4});
  Named& now = Add("now", {.owner = 1, .stage = 3});
  Add("other", {.owner = 2, .stage = 9});
  EXPECT_EQ(Turns(4), "now other now other ");
  now.busy = false;
  EXPECT_EQ(Turns(4), "next other next other ");
}

TEST_F(WorkQueueTest, WhatWasRemovedIsNotAsked) {
  Named& a = Add("a", {.owner = 1});
  Add("b", {.owner = 1});
  queue_.Remove(a);
  EXPECT_EQ(Turns(2), "b b ");
  queue_.Remove(works_.back());
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(Turns(1), "- ");
}

TEST_F(WorkQueueTest, TellsWhetherAnyHasWork) {
  const auto has_work = [](const EngineWork& work) { return work.HasWork(); };
  EXPECT_FALSE(queue_.Any(has_work));
  Named& a = Add("a", {.owner = 1});
  EXPECT_TRUE(queue_.Any(has_work));
  a.busy = false;
  EXPECT_FALSE(queue_.Any(has_work));
}

}  // namespace
}  // namespace millrace::exec
