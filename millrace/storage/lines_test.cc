#include "millrace/storage/lines.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/storage/scan_test.h"

namespace millrace::storage {
namespace {

using base::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Scanned Scan(std::string_view bytes, size_t window = 1 << 20,
             int64_t line_bytes_max = 1000) {
  LineScanner scanner({.offset = 0, .line_bytes_max = line_bytes_max});
  return ScanAll(scanner, bytes, window);
}

ScannedRow Line(int64_t begin, const std::string& content) {
  return {.begin = begin, .contents = {{0, content}}};
}

TEST(LinesTest, EndWithALineFeedOrBothOrTheFile) {
  for (const size_t window : {0, 1, 3, 100}) {
    const Scanned scanned = Scan("one\ntwo\r\n\n\r\nfive", window);
    EXPECT_THAT(scanned.status, IsOk());
    EXPECT_THAT(scanned.rows, ElementsAre(Line(0, "one"), Line(4, "two"), Line(9, ""),
                                          Line(10, ""), Line(12, "five")));
  }
}

TEST(LinesTest, NothingFollowsTheLastLineFeed) {
  EXPECT_THAT(Scan("").rows, IsEmpty());
  EXPECT_THAT(Scan("\n").rows, ElementsAre(Line(0, "")));
  EXPECT_THAT(Scan("a\n").rows, ElementsAre(Line(0, "a")));
  EXPECT_THAT(Scan("a\n\n").rows, ElementsAre(Line(0, "a"), Line(2, "")));
}

TEST(LinesTest, ACarriageReturnAloneIsContent) {
  EXPECT_THAT(Scan("a\rb\nc\r").rows, ElementsAre(Line(0, "a\rb"), Line(4, "c\r")));
  EXPECT_THAT(Scan("a\r\r\n").rows, ElementsAre(Line(0, "a\r")));
}

TEST(LinesTest, ALineOverTheLimitIsABadRowAndTheNextIsNot) {
  for (const size_t window : {0, 1, 4, 6, 100}) {
    const Scanned scanned = Scan("12345\n123456\n12345\r\n", window, 5);
    EXPECT_THAT(scanned.status, IsOk());
    ASSERT_EQ(scanned.rows.size(), 3U);
    EXPECT_EQ(scanned.rows[0], Line(0, "12345"));
    EXPECT_THAT(scanned.rows[1].why, HasSubstr("has 7 bytes, at most 5"));
    EXPECT_THAT(scanned.rows[1].contents, IsEmpty());
    EXPECT_EQ(scanned.rows[2], Line(13, "12345"));
  }
}

TEST(LinesTest, TheLastLineMayBeTooLongAsWell) {
  for (const size_t window : {1, 7, 100}) {
    const Scanned scanned = Scan("1\n1234567890", window, 5);
    EXPECT_THAT(scanned.status, IsOk());
    ASSERT_EQ(scanned.rows.size(), 2U) << window;
    EXPECT_THAT(scanned.rows[1].why, HasSubstr("at most 5"));
  }
}

TEST(LinesTest, AreTheSameHoweverTheBytesAreShown) {
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += std::string(i * 7 % 13, static_cast<char>('a' + i % 26));
    text += i % 3 == 0 ? "\r\n" : "\n";
  }
  const Scanned whole = Scan(text, 1000, 9);
  EXPECT_EQ(whole.rows.size(), 50U);
  for (size_t window = 0; window < 20; ++window) {
    EXPECT_EQ(Scan(text, window, 9).rows, whole.rows) << window;
  }
}

}  // namespace
}  // namespace millrace::storage
