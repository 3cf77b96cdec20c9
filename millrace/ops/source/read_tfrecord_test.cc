#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOkAndHolds;
using base::StatusIs;
using storage::TemporaryFolder;
using storage::TfrecordOf;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Sample(std::string_view name) {
  return base::SourcePath(base::StrCat("millrace/ops/testdata/samples/", name));
}

// What tools/format_samples.py wrote.
std::vector<std::string> SampleRecords() {
  std::vector<std::string> records;
  for (const size_t size : {0, 1, 100, 300, 17}) {
    std::string record(size, '\0');
    for (size_t i = 0; i < size; ++i) record[i] = static_cast<char>(records.size() + i);
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<std::string> Records(const std::vector<size_t>& sizes) {
  std::vector<std::string> records;
  records.reserve(sizes.size());
  for (const size_t size : sizes) {
    records.push_back(storage::Noise(size, records.size()));
  }
  return records;
}

auto Read(const std::string& path, BadRows& bad_rows = NoBadRows()) {
  return ReadField(Call("read_tfrecord", path), "record", bad_rows);
}

TEST(ReadTfrecordTest, ReadsWhatTensorflowWrote) {
  EXPECT_THAT(Read(Sample("plain.tfrecord")), IsOkAndHolds(SampleRecords()));
  EXPECT_THAT(Read(Sample("zipped.tfrecord.gz")), IsOkAndHolds(SampleRecords()));
}

TEST(ReadTfrecordTest, ReadsRowsOfAllSizes) {
  const TemporaryFolder folder;
  const std::vector<std::string> records =
      Records({0, 5, 33'000, 10, 300'000, 300'001, 0, 1'200'000, 70'000, 3, 262'144,
               262'145, 4'000'000, 1});
  const std::string bytes = TfrecordOf(records);
  EXPECT_THAT(Read(folder.Write("a.tfrecord", bytes)), IsOkAndHolds(records));
  EXPECT_THAT(Read(folder.Write("a.tfrecord.gz", codec::Gzipped(bytes))),
              IsOkAndHolds(records));
  EXPECT_THAT(Read(folder.Write("a.tfrecord.zst", codec::Zstandard(bytes))),
              IsOkAndHolds(records));
}

TEST(ReadTfrecordTest, ReadsManySmallRows) {
  const TemporaryFolder folder;
  const std::vector<std::string> records = Records(std::vector<size_t>(5000, 700));
  const std::string path = folder.Write("a.tfrecord", TfrecordOf(records));
  EXPECT_THAT(Read(path), IsOkAndHolds(records));
  AddIndex(path, storage::RowFormat::kTfrecord);
  EXPECT_THAT(Read(path), IsOkAndHolds(records));
}

TEST(ReadTfrecordTest, ABadContentChecksumIsOneBadRow) {
  const TemporaryFolder folder;
  std::string bytes = TfrecordOf({"one", "two", "three"});
  bytes[19 + 12] ^= 1;
  const std::string path = folder.Write("a.tfrecord", bytes);
  EXPECT_THAT(Read(path),
              StatusIs(kDataLoss, AllOf(HasSubstr("does not fit its checksum"),
                                        HasSubstr("row at byte 19"), HasSubstr(path))));
  LeavesOut bad;
  const PlainRows rows = *ReadPlain(Call("read_tfrecord", path), bad);
  ASSERT_EQ(rows.rows.size(), 2U);
  EXPECT_EQ(rows.rows[1].at("record"), "three");
  EXPECT_EQ(rows.ids[1].lo, 2U);
  EXPECT_EQ(bad.reasons.size(), 1U);
}

TEST(ReadTfrecordTest, LongRowsAreCheckedToo) {
  const TemporaryFolder folder;
  const std::vector<std::string> records = Records({400'000, 500'000, 10});
  std::string bytes = TfrecordOf(records);
  bytes[400'016 + 12 + 499'999] ^= 1;
  LeavesOut bad;
  EXPECT_THAT(Read(folder.Write("a.tfrecord", bytes), bad),
              IsOkAndHolds(ElementsAre(records[0], records[2])));
  EXPECT_THAT(bad.reasons, ElementsAre(HasSubstr("row at byte 400016")));
}

TEST(ReadTfrecordTest, ABadLengthLosesTheRestAsOne) {
  const TemporaryFolder folder;
  std::string bytes = TfrecordOf({"one", "two", "three", "four"});
  bytes[19] ^= 1;
  const std::string path = folder.Write("a.tfrecord", bytes);
  EXPECT_THAT(Read(path), StatusIs(kDataLoss, HasSubstr("corrupt length at byte 19")));
  LeavesOut bad;
  EXPECT_THAT(Read(path, bad), IsOkAndHolds(ElementsAre("one")));
  EXPECT_THAT(bad.reasons, ElementsAre(HasSubstr("the rest of the file is left out")));
}

TEST(ReadTfrecordTest, OneBadFileDoesNotTakeOthersWithIt) {
  const TemporaryFolder folder;
  folder.Write("a.tfrecord", "this is no such file at all");
  folder.Write("b.tfrecord", TfrecordOf({"good"}));
  LeavesOut bad;
  EXPECT_THAT(Read(folder / "*.tfrecord", bad), IsOkAndHolds(ElementsAre("good")));
}

}  // namespace
}  // namespace millrace::ops
