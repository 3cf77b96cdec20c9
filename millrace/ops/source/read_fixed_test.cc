#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;
using base::IsOkAndHolds;
using base::StatusIs;
using storage::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kThree[] = ", record_bytes=3";

TEST(ReadFixedTest, GivesRowsOfAllFilesInOrder) {
  const TemporaryFolder folder;
  folder.Write("b", "ghi");
  folder.Write("a", "abcdef");
  folder.Write("c", "");
  EXPECT_THAT(ReadField(Call("read_fixed", folder / "*", kThree), "record"),
              IsOkAndHolds(ElementsAre("abc", "def", "ghi")));
}

TEST(ReadFixedTest, CountsAndSeeksWithoutAnIndex) {
  const TemporaryFolder folder;
  std::string text = "header";
  for (int64_t row = 0; row < 5000; ++row) text += storage::Noise(1000, row);
  const std::string path = folder.Write("a", text + "end");
  const std::string call =
      Call("read_fixed", path, ", record_bytes=1000, header_bytes=6, footer_bytes=3");
  const auto source = *MakeFileSource(call, {.pool = core::HeapPool()});
  const lanes::Manifest manifest = *source->List();
  EXPECT_EQ(manifest.splits[0].rows, 5000);
  EXPECT_TRUE(manifest.splits[0].seekable);
  for (const int64_t begin : {0, 1, 4321, 4999}) {
    const PlainRows rows = ToPlain(*ReadAll(*source, {0, begin, begin + 1}));
    ASSERT_EQ(rows.rows.size(), 1U);
    EXPECT_EQ(rows.rows[0].at("record"), storage::Noise(1000, begin));
    EXPECT_EQ(rows.ids[0].lo, static_cast<uint64_t>(begin));
  }
  EXPECT_EQ(ToPlain(*ReadAll(*source, WholeSplit(manifest, 0))).rows.size(), 5000U);
}

TEST(ReadFixedTest, ReadsCompressedFilesAndLongRows) {
  const TemporaryFolder folder;
  const std::string text = storage::Noise(3'000'000, 7);
  folder.Write("a.gz", codec::Gzipped("hh" + text + "f"));
  folder.Write("b", "hh" + text + "f");
  const auto rows = ReadField(Call("read_fixed", folder / "*",
                                   ", record_bytes=1000000, header_bytes=2, "
                                   "footer_bytes=1"),
                              "record");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 6U);
  EXPECT_EQ(rows->at(0), text.substr(0, 1'000'000));
  EXPECT_EQ(rows->at(2), text.substr(2'000'000));
  EXPECT_EQ(rows->at(5), rows->at(2));
}

TEST(ReadFixedTest, AFileThatEndsInsideARowIsBrokenThere) {
  const TemporaryFolder folder;
  folder.Write("a", "abcde");
  folder.Write("b", "fgh");
  EXPECT_THAT(
      ReadField(Call("read_fixed", folder / "*", kThree), "record"),
      StatusIs(kDataLoss, AllOf(HasSubstr("2 bytes from byte 3"), HasSubstr("/a"))));
  LeavesOut bad;
  EXPECT_THAT(ReadField(Call("read_fixed", folder / "*", kThree), "record", bad),
              IsOkAndHolds(ElementsAre("abc", "fgh")));
  EXPECT_EQ(bad.reasons.size(), 1U);
}

TEST(ReadFixedTest, SaysWhatIsWrongWithItsArguments) {
  EXPECT_THAT(ReadPlain("read_fixed(paths=[\"a\"], record_bytes=0)"),
              StatusIs(kInvalidArgument));
  EXPECT_THAT(ReadPlain("read_fixed(paths=[\"a\"], record_bytes=1, footer_bytes=-1)"),
              StatusIs(kInvalidArgument));
  EXPECT_THAT(ReadPlain("read_fixed(paths=[], record_bytes=1)"),
              StatusIs(kInvalidArgument));
}

}  // namespace
}  // namespace millrace::ops
