#include "millrace/storage/csv.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/storage/scan_test.h"

namespace millrace::storage {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Scanned Scan(std::string_view bytes, size_t window = 1 << 20,
             const CsvOptions& options = {.header = false, .row_bytes_max = 1000}) {
  CsvScanner scanner(options);
  return ScanAll(scanner, bytes, window);
}

ScannedRow Row(int64_t begin, const std::string& content) {
  return {.begin = begin, .contents = {{0, content}}};
}

TEST(CsvTest, RowsEndWithALineFeedOrBothOrTheFile) {
  for (const size_t window : {0, 1, 3, 100}) {
    const Scanned scanned = Scan("a,b\nc\r\nd,\"e\"\nlast", window);
    EXPECT_THAT(scanned.status, IsOk());
    EXPECT_THAT(scanned.rows, ElementsAre(Row(0, "a,b"), Row(4, "c"), Row(7, "d,\"e\""),
                                          Row(13, "last")));
  }
}

TEST(CsvTest, EmptyLinesAreNoRows) {
  for (const size_t window : {0, 1, 3, 100}) {
    EXPECT_THAT(Scan("\n\na\n\r\n\nb\n\n", window).rows,
                ElementsAre(Row(2, "a"), Row(7, "b")));
  }
  EXPECT_THAT(Scan("").rows, IsEmpty());
  EXPECT_THAT(Scan("\n").rows, IsEmpty());
}

TEST(CsvTest, NoRowEndsInsideOfQuotes) {
  for (const size_t window : {0, 1, 3, 5, 100}) {
    EXPECT_THAT(Scan("\"a\nb\",c\n\"d\"\"\n\"\"e\",\"\"\nf\n", window).rows,
                ElementsAre(Row(0, "\"a\nb\",c"), Row(8, "\"d\"\"\n\"\"e\",\"\""),
                            Row(21, "f")));
  }
}

TEST(CsvTest, AQuoteInTheMiddleOfACellOpensNothing) {
  for (const size_t window : {0, 1, 3, 100}) {
    EXPECT_THAT(
        Scan("5\" disk\n6\"\" tape,\"x\ny\"\n7\n", window).rows,
        ElementsAre(Row(0, "5\" disk"), Row(8, "6\"\" tape,\"x\ny\""), Row(23, "7")));
  }
  const CsvOptions none = {.header = false, .quote = 0};
  EXPECT_THAT(Scan("\"a\nb\"\n", 100, none).rows,
              ElementsAre(Row(0, "\"a"), Row(3, "b\"")));
}

TEST(CsvTest, AHeaderIsNoRow) {
  for (const size_t window : {0, 1, 3, 100}) {
    EXPECT_THAT(Scan("a,\"\n\"\nb\n", window, {}).rows, ElementsAre(Row(6, "b")));
    EXPECT_THAT(Scan("a,b", window, {}).rows, IsEmpty());
    EXPECT_THAT(Scan("", window, {}).rows, IsEmpty());
    EXPECT_THAT(Scan("c\n", window, {.offset = 6}).rows, ElementsAre(Row(6, "c")));
  }
}

TEST(CsvTest, AWrongHeaderIsAWrongFile) {
  const CsvOptions options = {.check_header = [](std::string_view header) {
    return header == "a,b" ? absl::OkStatus() : absl::DataLossError("other");
  }};
  EXPECT_THAT(Scan("a,b\r\nc", 2, options).rows, ElementsAre(Row(5, "c")));
  EXPECT_THAT(Scan("a,c\r\nc", 2, options).status, StatusIs(kDataLoss));
  EXPECT_THAT(Scan("12345", 2, {.row_bytes_max = 3}).status,
              StatusIs(kDataLoss, HasSubstr("header is too long")));
}

TEST(CsvTest, ARowOverTheLimitIsABadRowAndTheNextIsNot) {
  for (const size_t window : {0, 1, 4, 6, 100}) {
    const Scanned scanned = Scan("12345\n\"1,\n\"\"\n5\",\"\n\"6\n12345\r\n", window,
                                 {.header = false, .row_bytes_max = 5});
    EXPECT_THAT(scanned.status, IsOk());
    ASSERT_EQ(scanned.rows.size(), 3U) << window;
    EXPECT_EQ(scanned.rows[0], Row(0, "12345"));
    EXPECT_THAT(scanned.rows[1].why, HasSubstr("has 15 bytes, at most 5")) << window;
    EXPECT_THAT(scanned.rows[1].contents, IsEmpty());
    EXPECT_EQ(scanned.rows[2], Row(21, "12345"));
  }
}

TEST(CsvTest, QuotesThatStayOpenAreABadRow) {
  for (const size_t window : {0, 1, 4, 100}) {
    const Scanned scanned = Scan("a\n\"b\nc\n", window);
    EXPECT_THAT(scanned.status, IsOk());
    ASSERT_EQ(scanned.rows.size(), 2U) << window;
    EXPECT_EQ(scanned.rows[1].begin, 2);
    EXPECT_THAT(scanned.rows[1].why, HasSubstr("still open at the end of the file"));
  }
}

TEST(CsvTest, RowsAreTheSameHoweverTheBytesAreShown) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += i % 4 == 0 ? "\"x\ny\"\"\"," : "x,";
    text += std::string(i * 7 % 13, static_cast<char>('a' + i % 26));
    text += i % 3 == 0 ? "\r\n" : "\n";
  }
  const Scanned whole = Scan(text, 10'000, {.row_bytes_max = 12});
  EXPECT_EQ(whole.rows.size(), 59U);
  for (size_t window = 0; window < 30; ++window) {
    EXPECT_EQ(Scan(text, window, {.row_bytes_max = 12}).rows, whole.rows) << window;
  }
}

}  // namespace
}  // namespace millrace::storage
