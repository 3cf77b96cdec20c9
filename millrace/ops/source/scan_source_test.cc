
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kUnavailable;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using storage::TfrecordOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LeavesOutRows final : public RowsSink {
 public:
  absl::Status Give(core::Block /*block*/) override {
    ++seen;
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const BadRow& /*row*/) override {
    ++seen;
    return absl::OkStatus();
  }

  int seen = 0;
};

class ScanSourceTest : public testing::Test {
 protected:
  ScanSourceTest() {
    std::vector<std::string> rows;
    rows.reserve(400);
    for (size_t i = 0; i < 400; ++i) rows.push_back(storage::Noise(i * 31 % 9000, i));
    const std::string bytes = TfrecordOf(rows);
    folder_.Write("a.tfrecord", bytes);
    folder_.Write("b.tfrecord", bytes);
    folder_.Write("c.tfrecord.gz", codec::Gzipped(bytes));
    AddIndex(folder_ / "b.tfrecord", storage::RowFormat::kTfrecord);
  }

  std::unique_ptr<Source> Make(const std::string& pattern) {
    return *MakeFileSource(Call("read_tfrecord", folder_ / pattern),
                           {.pool = core::HeapPool(), .blobs = store_});
  }

  const storage::TemporaryFolder folder_;
  storage::FailingStore store_{storage::ProcessFiles()};
};

TEST_F(ScanSourceTest, EachFileIsASplitOfItsSizeAndVersion) {
  const lanes::Manifest manifest = *Make("*.tfrecord*")->List();
  ASSERT_THAT(manifest.splits, SizeIs(3));
  EXPECT_EQ(manifest.splits[0].name, folder_ / "a.tfrecord");
  const storage::BlobInfo info = *storage::ProcessFiles().Find(folder_ / "a.tfrecord");
  EXPECT_EQ(manifest.splits[0].bytes.count(), info.bytes);
  EXPECT_EQ(manifest.splits[0].version, info.version);
  EXPECT_THAT(lanes::Check(manifest), IsOk());
}

TEST_F(ScanSourceTest, OnlyAnIndexCountsRowsAndLetsReadingBeginAnywhere) {
  const lanes::Manifest manifest = *Make("*.tfrecord*")->List();
  EXPECT_FALSE(manifest.splits[0].rows.has_value());
  EXPECT_FALSE(manifest.splits[0].seekable);
  EXPECT_EQ(manifest.splits[1].rows, 400);
  EXPECT_TRUE(manifest.splits[1].seekable);
  EXPECT_FALSE(manifest.splits[2].rows.has_value());
}

TEST_F(ScanSourceTest, IndexesAreNotTakenForData) {
  ASSERT_THAT(*Make("*")->List(), testing::Field(&lanes::Manifest::splits, SizeIs(3)));
}

TEST_F(ScanSourceTest, AnIndexBesideACompressedFileIsLeftAlone) {
  folder_.Write("c.tfrecord.gz.mrindex", "whatever this is");
  EXPECT_THAT(Make("c.*")->List(), IsOk());
}

TEST_F(ScanSourceTest, ADamagedIndexIsAnErrorThatNamesIt) {
  folder_.Write("b.tfrecord.mrindex", "whatever this is");
  EXPECT_THAT(Make("b.tfrecord")->List(),
              StatusIs(kDataLoss, HasSubstr("b.tfrecord.mrindex (remove it")));
}

TEST_F(ScanSourceTest, RowsAreFoundWhereTheyStand) {
  const auto source = Make("*.tfrecord*");
  ASSERT_THAT(source->List(), IsOk());
  std::vector<int64_t> begins = {0};  // Of the rows: lengths, and three checksums.
  for (int64_t i = 0; i < 400; ++i)
    begins.push_back(begins.back() + i * 31 % 9000 + 16);
  const std::vector<int64_t> rows = {399, 0, 17, 17};
  for (int64_t split = 0; split < 3; ++split) {
    const std::vector<RowPlace> places = *source->PlacesOf(split, rows);
    ASSERT_EQ(places.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_THAT(places[i].file, HasSubstr(".tfrecord"));
      EXPECT_EQ(places[i].row, rows[i]);
      EXPECT_EQ(places[i].byte, begins[rows[i]]);
      EXPECT_EQ(places[i].key, std::nullopt);
    }
  }
  EXPECT_THAT(source->PlacesOf(0, {}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(source->PlacesOf(0, {400}), StatusIs(kFailedPrecondition));
}

TEST_F(ScanSourceTest, ReadersOfOneSourceAreIndependent) {
  const auto source = Make("b.tfrecord");
  ASSERT_THAT(source->List(), IsOk());
  const auto first = *source->Open({0, 0, 400});
  const auto second = *source->Open({0, 399, 400});
  ASSERT_THAT(first->Fetch(), IsOk());
  ASSERT_THAT(second->Fetch(), IsOk());
  EXPECT_EQ((*second->Next(NoBadRows()))->rows(), 1);
  EXPECT_GT((*first->Next(NoBadRows()))->rows(), 1);
  ASSERT_THAT(second->Fetch(), IsOk());
  EXPECT_FALSE(second->Next(NoBadRows())->has_value());
}

TEST_F(ScanSourceTest, RowsBeforeTheRangeArePassedOverWithoutAnIndex) {
  const auto source = Make("{a,c}.tfrecord*");
  ASSERT_THAT(source->List(), IsOk());
  for (const int64_t split : {0, 1}) {
    const PlainRows rows = ToPlain(*ReadAll(*source, {split, 100, 103}));
    ASSERT_THAT(rows.rows, SizeIs(3));
    EXPECT_EQ(rows.rows[0].at("record"), storage::Noise(3100, 100));
    EXPECT_EQ(rows.ids[0].lo, 100U);
  }
}

TEST_F(ScanSourceTest, AnyCallThatFailsIsAnErrorAndNeverFewerRows) {
  for (const char* pattern : {"a.tfrecord", "b.tfrecord", "c.tfrecord.gz"}) {
    store_.FailAt(1 << 20);
    const auto read = [&]() -> absl::StatusOr<int64_t> {
      const auto source = Make(pattern);
      const lanes::Manifest manifest = TRY(source->List());
      int64_t rows = 0;
      for (const core::Block& block : TRY(ReadAll(*source, WholeSplit(manifest, 0)))) {
        rows += block.rows();
      }
      return rows;
    };
    ASSERT_THAT(read(), base::IsOkAndHolds(400)) << pattern;
    const int64_t calls = store_.calls();
    ASSERT_GT(calls, 3) << pattern;
    for (int64_t call = 0; call < calls; ++call) {
      store_.FailAt(call);
      EXPECT_THAT(read(), StatusIs(kUnavailable)) << pattern << " call " << call;
    }
  }
}

TEST_F(ScanSourceTest, LongContentThatCannotBeFetchedIsAnErrorNotARow) {
  folder_.Write("long.tfrecord", TfrecordOf({storage::Noise(2 << 20), "end"}));
  const auto source = Make("long.tfrecord");
  ASSERT_THAT(source->List(), IsOk());
  const auto reader = *source->Open({0, 0, lanes::kRowsMax});
  std::vector<FoundWork> found;
  while (true) {
    ASSERT_THAT(reader->Fetch(), IsOk());
    std::optional<FoundWork> work = *reader->Find();
    if (!work) break;
    if (!work->wanted.empty()) found.push_back(*std::move(work));
  }
  ASSERT_THAT(found, SizeIs(1));
  store_.FailAt(0);
  found[0].Fetch();
  store_.FailAt(-1);
  LeavesOutRows sink;
  EXPECT_THAT(std::move(found[0])(sink), StatusIs(kUnavailable));
  EXPECT_EQ(sink.seen, 0);  // Not even as a row that is wrong.
}

TEST_F(ScanSourceTest, AFailedFetchCanBeTriedAgain) {
  for (const char* pattern : {"a.tfrecord", "c.tfrecord.gz"}) {
    const auto source = Make(pattern);
    ASSERT_THAT(source->List(), IsOk());
    const auto reader = *source->Open({0, 0, lanes::kRowsMax});
    std::vector<core::Block> blocks;
    while (true) {
      store_.FailAt(0);
      const absl::Status failed = reader->Fetch();
      store_.FailAt(-1);
      const absl::Status again = failed.ok() ? failed : reader->Fetch();
      ASSERT_THAT(again, IsOk());
      const auto block = reader->Next(NoBadRows());
      ASSERT_THAT(block, IsOk());
      if (!block->has_value()) break;
      blocks.push_back(**block);
    }
    EXPECT_THAT(ToPlain(blocks).rows, SizeIs(400)) << pattern;
  }
}

TEST_F(ScanSourceTest, ASplitOfNoRowsIsRead) {
  const std::string path = folder_.Write("d.tfrecord", "");
  AddIndex(path, storage::RowFormat::kTfrecord);
  const auto source = Make("d.tfrecord");
  EXPECT_EQ(source->List()->splits[0].rows, 0);
  EXPECT_THAT(*ReadAll(*source, {0, 0, 0}), IsEmpty());
}

}  // namespace
}  // namespace millrace::ops
