#include "millrace/kernels/image/escape.h"

#include <cstring>

#include "gtest/gtest.h"

namespace millrace::kernels {
namespace {

// What a C library does: calls back, and does not expect the callback to return.
void CallBack(Escape& escape) {
  std::strncpy(escape.message, "went wrong", sizeof(escape.message) - 1);
  EscapeFrom(escape);
}

void Work(Escape& escape) { CallBack(escape); }

TEST(EscapeTest, TellsThatTheBodyCameToItsEnd) {
  Escape escape = {};
  int done = 0;
  EXPECT_TRUE(RunWithEscape(escape, [&] { ++done; }));
  EXPECT_EQ(done, 1);
  EXPECT_STREQ(escape.message, "");
}

TEST(EscapeTest, LeavesTheBodyFromWithin) {
  Escape escape = {};
  int done = 0;
  EXPECT_FALSE(RunWithEscape(escape, [&] {
    ++done;
    Work(escape);
    ++done;
  }));
  EXPECT_EQ(done, 1);
  EXPECT_STREQ(escape.message, "went wrong");
}

TEST(EscapeTest, CanBeUsedAgain) {
  Escape escape = {};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(RunWithEscape(escape, [&] { Work(escape); }));
    EXPECT_TRUE(RunWithEscape(escape, [] {}));
  }
}

}  // namespace
}  // namespace millrace::kernels
