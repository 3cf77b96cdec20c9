#include "millrace/storage/tfrecord.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/storage/samples_test.h"
#include "millrace/storage/scan_test.h"

namespace millrace::storage {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Scanned Scan(std::string_view bytes, size_t window = 1 << 20) {
  TfrecordScanner scanner(0);
  return ScanAll(scanner, bytes, window);
}

ScannedRow Row(int64_t begin, const std::string& content, const std::string& why = "") {
  return {.begin = begin, .contents = {{0, content}}, .why = why};
}

TEST(TfrecordTest, FindsRowsHoweverTheBytesAreShown) {
  const std::string bytes = TfrecordOf({"one", "", "three three"});
  for (const size_t window : {0, 1, 12, 13, 1000}) {
    const Scanned scanned = Scan(bytes, window);
    EXPECT_THAT(scanned.status, IsOk());
    EXPECT_THAT(scanned.rows,
                ElementsAre(Row(0, "one"), Row(19, ""), Row(35, "three three")));
  }
}

TEST(TfrecordTest, AnEmptyFileHasNoRows) {
  EXPECT_THAT(Scan("").status, IsOk());
  EXPECT_THAT(Scan("").rows, IsEmpty());
}

TEST(TfrecordTest, KnowsWhereItBegan) {
  TfrecordScanner scanner(1000);
  EXPECT_THAT(ScanAll(scanner, TfrecordOf({"a", "b"}), 10).rows,
              ElementsAre(Row(1000, "a"), Row(1017, "b")));
}

TEST(TfrecordTest, BrokenContentIsOneRowsFault) {
  std::string bytes = TfrecordOf({"one", "two", "three"});
  bytes[19 + 12] ^= 1;
  const Scanned scanned = Scan(bytes);
  EXPECT_THAT(scanned.status, IsOk());
  EXPECT_THAT(scanned.rows,
              ElementsAre(Row(0, "one"), Row(19, "uwo", "checksum"), Row(38, "three")));
}

TEST(TfrecordTest, ABrokenLengthLosesTheRest) {
  for (const size_t at : {19U, 19U + 7, 19U + 8, 19U + 11}) {
    std::string bytes = TfrecordOf({"one", "two", "three"});
    bytes[at] ^= 0x40;
    const Scanned scanned = Scan(bytes);
    EXPECT_THAT(scanned.status,
                StatusIs(kDataLoss, HasSubstr("corrupt length at byte 19")));
    EXPECT_THAT(scanned.rows, ElementsAre(Row(0, "one")));
  }
}

TEST(TfrecordTest, ALengthWithAFittingChecksumMayStillBeAbsurd) {
  const std::string length = LittleEndian(~uint64_t{0}, 8);
  EXPECT_THAT(Scan(length + MaskedCrc(length) + "content").status,
              StatusIs(kDataLoss, HasSubstr("corrupt length")));
}

TEST(TfrecordTest, IsCutOffAnywhereButBetweenRows) {
  const std::string bytes = TfrecordOf({"one", "two"});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Scanned scanned = Scan(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(scanned.status.ok(), size == 0 || size == 19) << size;
    EXPECT_EQ(scanned.rows.size(), size < 19 ? 0U : 1U) << size;
  }
}

TEST(TfrecordTest, SomethingElseIsNotTakenForIt) {
  EXPECT_THAT(Scan("\x1f\x8b some compressed content, perhaps").status,
              StatusIs(kDataLoss, HasSubstr("is no TFRecord")));
}

}  // namespace
}  // namespace millrace::storage
