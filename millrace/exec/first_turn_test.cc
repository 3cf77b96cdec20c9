#include "millrace/exec/first_turn.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/exec/engine.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

TEST(FirstTurnTest, HasNoRowsOnceAllIsReadAndNothingCame) {
  FirstTurn turn;
  EXPECT_FALSE(turn.HasNoRows());
  turn.Expect(2);
  turn.End(0, false);
  EXPECT_FALSE(turn.HasNoRows());
  turn.End(1, false);
  EXPECT_TRUE(turn.HasNoRows());
}

TEST(FirstTurnTest, OneRowIsEnough) {
  FirstTurn turn;
  turn.Expect(2);
  turn.End(0, true);
  turn.End(1, false);
  EXPECT_FALSE(turn.HasNoRows());
}

TEST(FirstTurnTest, ASplitThatIsReadTwiceSaysNothingOfTheOther) {
  FirstTurn turn;
  turn.Expect(2);
  turn.End(0, false);
  turn.End(0, false);
  EXPECT_FALSE(turn.HasNoRows());
}

// Where nothing ever comes, looking for it has an end.
TEST(FirstTurnTest, ARepeatOfNothingEnds) {
  for (const std::string before :
       {"%1 = filter(%0, predicate={.value > 9999})",
        "%1 = filter(%0, predicate={.value > 9999}) %2 = batch(%1, size=10)"}) {
    const bool batches = before.find("batch") != std::string::npos;
    const std::string text = "%0 = range(stop=1000) " + before +
                             (batches ? " %3 = repeat(%2)" : " %2 = repeat(%1)");
    EXPECT_EQ(MustRun(text).size(), 0U) << text;
    for (const int threads : {1, 4}) {
      Engine engine({.threads = threads});
      const auto iterator = *engine.Open(AsWritten(text), ops::DefaultLibrary(), {});
      EXPECT_FALSE((*iterator->Next()).has_value()) << text;
    }
  }
}

// The end is found out by whoever looks for work, and finds none.
TEST(FirstTurnTest, ARepeatOfNothingEndsWithinOtherPassesToo) {
  const std::string nothing =
      "%0 = range(stop=100) %1 = filter(%0, predicate={.value > 9999}) "
      "%2 = repeat(%1) %3 = range(stop=10) ";
  for (const std::string behind :
       {"%4 = mix(%2, %3)", "%4 = mix(%3, %2) %5 = batch(%4, size=3)",
        "%4 = rename(%3, from=[\"value\"], to=[\"x\"]) %5 = zip(%2, %4)"}) {
    const int64_t rows = Joined(MustRun(nothing + behind)).rows();
    for (int i = 0; i < 40; ++i) {
      Engine engine({.threads = 1 + i % 4});
      const auto iterator =
          *engine.Open(AsWritten(nothing + behind), ops::DefaultLibrary(), {});
      int64_t given = 0;
      for (auto block = *iterator->Next(); block; block = *iterator->Next()) {
        given += block->rows();
      }
      EXPECT_EQ(given, rows) << behind;
    }
  }
}

}  // namespace
}  // namespace millrace::exec
