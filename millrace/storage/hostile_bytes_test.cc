// What every scanner promises, whatever the bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"
#include "millrace/storage/scan_test.h"

namespace millrace::storage {
namespace {

using absl::StatusCode::kDataLoss;
using base::StatusIs;

struct Sample {
  RowFormat format;
  std::string bytes;
};

std::vector<Sample> Samples() {
  const std::string tar =
      PaxHeader({"path=folder/one.txt", "size=3"}) + TarMember("s", "one") +
      TarMember("folder/", "", '5') + TarMember("two.txt", Noise(700)) +
      TarMember("two.cls", "2") +
      TarMember("././@LongLink", std::string(120, 'n') + ".txt", 'L') +
      TarMember("n", "three") + TarEnd();
  return {{RowFormat::kLines, "one\ntwo\r\n\nfour and more\nlast"},
          {RowFormat::kCsv, "a,b\n1,\"x\ny\"\"\"\r\n\n2,z\n3,\n4,5\" w"},
          {RowFormat::kCsvWithoutHeader, "1,\"x\ny\"\n\"\",z\r\n\n\n4,w\n"},
          {RowFormat::kTfrecord, TfrecordOf({"one", "", Noise(100), "four"})},
          {RowFormat::kTar, tar}};
}

Scanned Scan(RowFormat format, std::string_view bytes, size_t window) {
  return ScanAll(*MakeScanner(format), bytes, window);
}

// Good or broken, it must be the same however it is shown, and never anything else.
void CheckAnyWay(RowFormat format, std::string_view bytes) {
  const Scanned whole = Scan(format, bytes, bytes.size());
  for (const size_t window : {0U, 17U, 600U}) {
    const Scanned cut = Scan(format, bytes, window);
    EXPECT_EQ(whole.rows, cut.rows) << Name(format);
    EXPECT_EQ(whole.status.code(), cut.status.code()) << Name(format);
  }
  if (!whole.status.ok()) {
    EXPECT_THAT(whole.status, StatusIs(kDataLoss)) << Name(format);
  }
  int64_t before = -1;
  for (const ScannedRow& row : whole.rows) {
    EXPECT_GT(row.begin, before) << Name(format);
    before = row.begin;
  }
}

TEST(HostileBytesTest, TheSamplesThemselvesAreGood) {
  for (const Sample& sample : Samples()) {
    const Scanned scanned = Scan(sample.format, sample.bytes, 100);
    EXPECT_TRUE(scanned.status.ok()) << Name(sample.format) << scanned.status;
    EXPECT_GE(scanned.rows.size(), 3U) << Name(sample.format);
  }
}

TEST(HostileBytesTest, CutOffAnywhereItIsDataLossOrFewerRows) {
  for (const Sample& sample : Samples()) {
    const Scanned whole = Scan(sample.format, sample.bytes, 100);
    const size_t step = sample.bytes.size() > 1000 ? 13 : 1;
    for (size_t size = 0; size < sample.bytes.size(); size += step) {
      const std::string_view bytes = std::string_view(sample.bytes).substr(0, size);
      CheckAnyWay(sample.format, bytes);
      EXPECT_LE(Scan(sample.format, bytes, 100).rows.size(), whole.rows.size());
    }
  }
}

TEST(HostileBytesTest, ChangedBitsAreSurvived) {
  for (const Sample& sample : Samples()) {
    for (uint64_t seed = 0; seed < 300; ++seed) {
      const uint64_t bit = base::Mix64(seed) % (8 * sample.bytes.size());
      std::string bytes = sample.bytes;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      CheckAnyWay(sample.format, bytes);
    }
  }
}

TEST(HostileBytesTest, NoiseIsSurvived) {
  for (const Sample& sample : Samples()) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      CheckAnyWay(sample.format, Noise(seed * 37 % 2000, seed));
    }
  }
}

}  // namespace
}  // namespace millrace::storage
