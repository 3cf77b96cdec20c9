#include "millrace/storage/fixed.h"

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
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Scanned Scan(std::string_view bytes, const FixedOptions& options, size_t window = 100) {
  FixedScanner scanner(options);
  return ScanAll(scanner, bytes, window);
}

ScannedRow Row(int64_t begin, const std::string& content) {
  return {.begin = begin, .contents = {{0, content}}};
}

TEST(FixedTest, CutsRowsOfOneLength) {
  for (const size_t window : {0, 1, 3, 5, 100}) {
    const Scanned scanned = Scan("abcdef", {.record_bytes = 3}, window);
    EXPECT_THAT(scanned.status, IsOk());
    EXPECT_THAT(scanned.rows, ElementsAre(Row(0, "abc"), Row(3, "def")));
  }
  EXPECT_THAT(Scan("", {.record_bytes = 3}).rows, IsEmpty());
  EXPECT_THAT(Scan("xy", {.offset = 7}).rows, ElementsAre(Row(7, "x"), Row(8, "y")));
}

TEST(FixedTest, PassesOverHeaderAndFooter) {
  const FixedOptions options = {
      .record_bytes = 2, .header_bytes = 3, .footer_bytes = 4};
  for (const size_t window : {0, 1, 3, 5, 100}) {
    EXPECT_THAT(Scan("hhhaabbffff", options, window).rows,
                ElementsAre(Row(3, "aa"), Row(5, "bb")));
    EXPECT_THAT(Scan("hhhffff", options, window).rows, IsEmpty());
    EXPECT_THAT(Scan("hhhfff", options, window).status, StatusIs(kDataLoss));
    EXPECT_THAT(Scan("hh", options, window).status, StatusIs(kDataLoss));
  }
}

TEST(FixedTest, AnEndInsideARowIsBroken) {
  for (const size_t window : {0, 1, 3, 100}) {
    const Scanned scanned = Scan("abcde", {.record_bytes = 3}, window);
    EXPECT_THAT(scanned.rows, ElementsAre(Row(0, "abc")));
    EXPECT_THAT(scanned.status,
                StatusIs(kDataLoss, AllOf(HasSubstr("2 bytes from byte 3"),
                                          HasSubstr("row has 3"))));
  }
}

TEST(FixedTest, CountsRowsByTheSizeOfTheFile) {
  const FixedOptions options = {
      .record_bytes = 2, .header_bytes = 3, .footer_bytes = 4};
  EXPECT_EQ(CountFixed(11, options), 2);
  EXPECT_EQ(CountFixed(7, options), 0);
  for (const int64_t bytes : {0, 2, 6, 10, 12}) {
    EXPECT_EQ(CountFixed(bytes, options), -1) << bytes;
  }
}

}  // namespace
}  // namespace millrace::storage
