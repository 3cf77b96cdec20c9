#include "millrace/ops/source/csv_cells.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

// The cells, quoted ones in brackets.
absl::StatusOr<std::vector<std::string>> Split(std::string_view row,
                                               const CsvSyntax& syntax = {}) {
  CsvCells cells(syntax);
  TRY(cells.Split(row, 100));
  std::vector<std::string> texts;
  for (size_t i = 0; i < cells.count(); ++i) {
    texts.push_back(cells[i].quoted ? base::StrCat("[", cells[i].text, "]")
                                    : std::string(cells[i].text));
  }
  return texts;
}

TEST(CsvCellsTest, SplitsAtSeparators) {
  EXPECT_THAT(Split(""), IsOkAndHolds(ElementsAre("")));
  EXPECT_THAT(Split(","), IsOkAndHolds(ElementsAre("", "")));
  EXPECT_THAT(Split("a"), IsOkAndHolds(ElementsAre("a")));
  EXPECT_THAT(Split("a,bc,,d,"), IsOkAndHolds(ElementsAre("a", "bc", "", "d", "")));
  EXPECT_THAT(Split("a;b,c", {.separator = ';'}),
              IsOkAndHolds(ElementsAre("a", "b,c")));
}

TEST(CsvCellsTest, SplitsRowsOfEveryLengthAlike) {
  std::string row;
  for (int size = 0; size < 60; ++size) {
    std::vector<std::string> expected(1);
    for (const char c : row) {
      if (c == ',') {
        expected.emplace_back();
      } else {
        expected.back() += c;
      }
    }
    EXPECT_THAT(Split(row), IsOkAndHolds(expected)) << row;
    row += size % 7 == 2 || size % 5 == 0 ? "," : size % 2 == 0 ? "\xac" : "-";
  }
}

TEST(CsvCellsTest, TakesQuotesOff) {
  EXPECT_THAT(Split("\"\""), IsOkAndHolds(ElementsAre("[]")));
  EXPECT_THAT(Split("a,\"b,\nc\",d"), IsOkAndHolds(ElementsAre("a", "[b,\nc]", "d")));
  EXPECT_THAT(Split("\"a\"\"b\"\"\",\"\"\"\",c"),
              IsOkAndHolds(ElementsAre("[a\"b\"]", "[\"]", "c")));
  EXPECT_THAT(Split("5\" x,y\""), IsOkAndHolds(ElementsAre("5\" x", "y\"")));
  EXPECT_THAT(Split("'a','''b'", {.quote = '\''}),
              IsOkAndHolds(ElementsAre("[a]", "['b]")));
  EXPECT_THAT(Split("\"a,b\"", {.quote = 0}), IsOkAndHolds(ElementsAre("\"a", "b\"")));
}

TEST(CsvCellsTest, QuotesMustCloseWhereTheCellEnds) {
  EXPECT_THAT(Split("a,\"b"), StatusIs(kDataLoss, HasSubstr("cell 2 opens quotes")));
  EXPECT_THAT(
      Split("\"a\"b"),
      StatusIs(kDataLoss, HasSubstr("cell 1 goes on behind its closing quote")));
  EXPECT_THAT(Split("\"a\"\""), StatusIs(kDataLoss));
}

TEST(CsvCellsTest, CountsCellsBeyondThoseThatAreWanted) {
  CsvCells cells({});
  for (const char* row : {"a,b,c,d", "\"a\",b,c,d"}) {
    ASSERT_TRUE(cells.Split(row, 2).ok());
    EXPECT_EQ(cells.count(), 4U);
    EXPECT_EQ(cells[1].text, "b");
  }
}

}  // namespace
}  // namespace millrace::ops
