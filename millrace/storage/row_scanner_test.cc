#include "millrace/storage/row_scanner.h"

#include <set>
#include <string_view>

#include "gtest/gtest.h"

#include "millrace/storage/scan_test.h"

namespace millrace::storage {
namespace {

constexpr RowFormat kFormats[] = {RowFormat::kTfrecord, RowFormat::kTar,
                                  RowFormat::kLines};

TEST(RowScannerTest, EveryFormatHasANameOfItsOwnThatFitsAnIndex) {
  std::set<std::string_view> names;
  for (const RowFormat format : kFormats) {
    EXPECT_LE(Name(format).size(), 8U);
    EXPECT_TRUE(names.insert(Name(format)).second) << Name(format);
  }
}

TEST(RowScannerTest, EveryFormatHasAScannerThatEndsWhereNothingIs) {
  for (const RowFormat format : kFormats) {
    const Scanned scanned = ScanAll(*MakeScanner(format), "", 100);
    EXPECT_TRUE(scanned.status.ok()) << Name(format);
    EXPECT_TRUE(scanned.rows.empty()) << Name(format);
  }
}

}  // namespace
}  // namespace millrace::storage
