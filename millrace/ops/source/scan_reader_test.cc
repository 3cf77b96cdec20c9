
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kNotFound;
using absl::StatusCode::kResourceExhausted;
using base::IsOk;
using base::StatusIs;
using storage::Noise;
using storage::TarMember;
using storage::TemporaryFolder;
using storage::TfrecordOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A small file of one format, and how it is read.
struct Sample {
  std::string name;
  std::string bytes;
  std::string source;
  std::string more;
};

std::vector<Sample> Samples() {
  const std::string text = "one\ntwo\r\nthree and more\n";
  const std::string records = TfrecordOf({"one", "", "three and more"});
  const std::string tar = storage::PaxHeader({"path=a.txt"}) + TarMember("s", "one") +
                          TarMember("a.cls", "1") + TarMember("b.txt", "two") +
                          TarMember("b.cls", "2") + storage::TarEnd();
  const std::string fields = ", fields=[\"cls\", \"txt\"]";
  return {{"a.txt", text, "read_text", ""},
          {"a.txt.gz", codec::Gzipped(text), "read_text", ""},
          {"a.txt.zst", codec::Zstandard(text), "read_text", ""},
          {"a.tfrecord", records, "read_tfrecord", ""},
          {"a.tfrecord.gz", codec::Gzipped(records), "read_tfrecord", ""},
          {"a.tar", tar, "read_tar", fields},
          {"a.tar.zst", codec::Zstandard(tar), "read_tar", fields}};
}

// Reads a file that may be damaged; gives the rows that still came.
std::vector<PlainRow> ReadDamaged(const Sample& sample, const std::string& bytes,
                                  const TemporaryFolder& folder) {
  const std::string path = folder.Write(sample.name, bytes);
  LeavesOut bad;
  const auto rows = ReadPlain(Call(sample.source, path, sample.more), bad);
  EXPECT_THAT(rows, IsOk()) << sample.name;
  for (const std::string& reason : bad.reasons) {
    EXPECT_THAT(reason, HasSubstr(path));
    EXPECT_THAT(reason, HasSubstr("byte"));
  }
  const auto strict = ReadPlain(Call(sample.source, path, sample.more));
  EXPECT_EQ(strict.ok(), bad.reasons.empty()) << sample.name;
  EXPECT_TRUE(strict.ok() || absl::IsDataLoss(strict.status())) << strict.status();
  return rows.ok() ? rows->rows : std::vector<PlainRow>();
}

TEST(ScanReaderTest, AFileThatIsCutOffGivesTheRowsBeforeTheCut) {
  const TemporaryFolder folder;
  for (const Sample& sample : Samples()) {
    const std::vector<PlainRow> whole = ReadDamaged(sample, sample.bytes, folder);
    ASSERT_FALSE(whole.empty()) << sample.name;
    size_t before = 0;
    // Tars are mostly zeros and headers: not every byte of them.
    const size_t step = sample.name == "a.tar" ? 37 : 1;
    for (size_t size = 0; size < sample.bytes.size(); size += step) {
      const std::vector<PlainRow> rows =
          ReadDamaged(sample, sample.bytes.substr(0, size), folder);
      EXPECT_GE(rows.size(), before) << sample.name << " at " << size;
      before = rows.size();
      // Of a text the last line may be cut; all else is all or nothing.
      for (size_t row = 0; row + 1 < rows.size(); ++row) {
        EXPECT_EQ(rows[row], whole[row]) << sample.name << " at " << size;
      }
    }
  }
}

TEST(ScanReaderTest, ChangedBitsNeverGiveOtherContentWhereThereAreChecksums) {
  const TemporaryFolder folder;
  for (const Sample& sample : Samples()) {
    const std::vector<PlainRow> whole = ReadDamaged(sample, sample.bytes, folder);
    for (uint64_t seed = 0; seed < 150; ++seed) {
      const uint64_t bit = base::Mix64(seed) % (8 * sample.bytes.size());
      std::string changed = sample.bytes;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
      const std::vector<PlainRow> rows = ReadDamaged(sample, changed, folder);
      if (sample.name != "a.tfrecord") continue;
      for (const PlainRow& row : rows) EXPECT_THAT(whole, testing::Contains(row));
    }
  }
}

TEST(ScanReaderTest, FilesThatChangeOrVanishAfterTheListingAreErrors) {
  const TemporaryFolder folder;
  for (const Sample& sample : Samples()) {
    const std::string path = folder.Write(sample.name, sample.bytes);
    LeavesOut bad;
    const auto source = *MakeFileSource(Call(sample.source, path, sample.more),
                                        {.pool = core::HeapPool()});
    ASSERT_THAT(source->List(), IsOk());
    folder.Write(sample.name, sample.bytes + "!");
    EXPECT_THAT(ReadAll(*source, {0, 0, lanes::kRowsMax}, bad),
                StatusIs(kFailedPrecondition, HasSubstr(path)));
    std::filesystem::remove(path);
    EXPECT_THAT(ReadAll(*source, {0, 0, lanes::kRowsMax}, bad),
                StatusIs(kNotFound, HasSubstr(path)));
    EXPECT_THAT(bad.reasons, IsEmpty());
  }
}

TEST(ScanReaderTest, TheFileIsOpenedByTheFirstFetch) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.txt", "one\n");
  const auto source =
      *MakeFileSource(Call("read_text", path), {.pool = core::HeapPool()});
  ASSERT_THAT(source->List(), IsOk());
  std::filesystem::remove(path);
  const auto reader = source->Open({0, 0, lanes::kRowsMax});
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT((*reader)->Fetch(), StatusIs(kNotFound));
}

TEST(ScanReaderTest, ReadsWithinABudgetHoweverLongTheFile) {
  const TemporaryFolder folder;
  const std::string rows = TfrecordOf(std::vector<std::string>(200, Noise(100'000)));
  const std::string path = folder.Write("a.tfrecord", rows);
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 6 << 20});
  const auto source = *MakeFileSource(Call("read_tfrecord", path), {.pool = pool});
  ASSERT_THAT(source->List(), IsOk());
  const auto reader = *source->Open({0, 0, lanes::kRowsMax});
  int64_t read = 0;
  while (true) {
    ASSERT_THAT(reader->Fetch(), IsOk());
    const auto block = reader->Next(NoBadRows());
    ASSERT_THAT(block, IsOk());
    if (!block->has_value()) break;
    read += (*block)->rows();
  }
  EXPECT_EQ(read, 200);
}

TEST(ScanReaderTest, ABombTakesNoMoreMemoryThanARow) {
  const TemporaryFolder folder;
  const std::string zeros(200 << 20, '\n');
  folder.Write("a.txt.gz", codec::Gzipped(zeros));
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 4 << 20});
  const auto source = *MakeFileSource(Call("read_text", folder / "a.txt.gz"),
                                      {.pool = pool, .with_ids = false});
  ASSERT_THAT(source->List(), IsOk());
  const auto reader = *source->Open({0, 0, 100'000});
  int64_t read = 0;
  while (true) {
    ASSERT_THAT(reader->Fetch(), IsOk());
    const auto block = reader->Next(NoBadRows());
    ASSERT_THAT(block, IsOk());
    if (!block->has_value()) break;
    read += (*block)->rows();
  }
  EXPECT_EQ(read, 100'000);
}

TEST(ScanReaderTest, ARowThatDoesNotFitTheBudgetIsSaidToBe) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.tfrecord", TfrecordOf({Noise(9 << 20)}));
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 4 << 20});
  const auto source = *MakeFileSource(Call("read_tfrecord", path), {.pool = pool});
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_THAT(ReadAll(*source, {0, 0, lanes::kRowsMax}), StatusIs(kResourceExhausted));
}

// Rows longer than what is read at once, between short ones, are fetched by
// themselves: before blocks are made of them, in whatever order.
class KeepsBlocks final : public RowsSink {
 public:
  absl::Status Give(core::Block block) override {
    blocks.push_back(std::move(block));
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const BadRow& row) override { return row.why; }

  std::vector<core::Block> blocks;
};

TEST(ScanReaderTest, LongRowsAreFetchedApart) {
  const TemporaryFolder folder;
  std::vector<std::string> rows;
  for (const int64_t size : {100, 3 << 20, 0, 300'000, 262'144, 17, 2 << 20, 5}) {
    rows.push_back(Noise(size, rows.size()));
  }
  const std::string path = folder.Write("a.tfrecord", TfrecordOf(rows));
  const auto source =
      *MakeFileSource(Call("read_tfrecord", path), {.pool = core::HeapPool()});
  ASSERT_THAT(source->List(), IsOk());
  const auto reader = *source->Open({0, 0, lanes::kRowsMax});
  std::vector<FoundWork> found;
  size_t apart = 0;
  while (true) {
    ASSERT_THAT(reader->Fetch(), IsOk());
    std::optional<FoundWork> work = *reader->Find();
    if (!work) break;
    apart += work->wanted.size();
    found.push_back(*std::move(work));
  }
  EXPECT_EQ(apart, 4U);
  for (size_t i = found.size(); i-- > 0;) {
    if (!found[i].FetchNow()) found[i].Fetch();
  }
  KeepsBlocks kept;
  for (FoundWork& work : found) ASSERT_THAT(std::move(work)(kept), IsOk());
  std::vector<std::string> read;
  for (const PlainRow& row : ToPlain(kept.blocks).rows) {
    read.push_back(row.at("record"));
  }
  EXPECT_EQ(read, rows);
}

// Also where one begins in one window and ends in the next.
TEST(ScanReaderTest, ShortRowsStayWhereTheyWereRead) {
  const TemporaryFolder folder;
  std::vector<std::string> rows;
  for (int64_t i = 0; i < 400; ++i) rows.push_back(Noise(1200 + 83 * i % 30'000, i));
  const std::string path = folder.Write("a.tfrecord", TfrecordOf(rows));
  for (const int aheads : {0, 2}) {
    SCOPED_TRACE(aheads);
    const auto source =
        *MakeFileSource(Call("read_tfrecord", path), {.pool = core::HeapPool()});
    ASSERT_THAT(source->List(), IsOk());
    const auto reader = *source->Open({0, 0, lanes::kRowsMax});
    KeepsBlocks kept;
    while (true) {
      while (reader->ahead() < aheads) {
        const std::shared_ptr<FetchAhead> ahead = reader->Ahead();
        if (ahead == nullptr) break;
        ahead->Fetch();
      }
      ASSERT_THAT(reader->Fetch(), IsOk());
      std::optional<FoundWork> work = *reader->Find();
      if (!work) break;
      ASSERT_THAT((*std::move(work))(kept), IsOk());
    }
    std::vector<std::string> read;
    for (const core::Block& block : kept.blocks) {
      EXPECT_TRUE(block.columns()[0].HasGaps()) << read.size();
      for (int64_t row = 0; row < block.rows(); ++row) {
        read.emplace_back(block.columns()[0].TextAt(row));
      }
    }
    EXPECT_EQ(read, rows);
  }
}

TEST(ScanReaderTest, BlocksAreNeitherTinyNorHuge) {
  const TemporaryFolder folder;
  std::vector<std::string> rows(4000, Noise(1000));
  const std::string path = folder.Write("a.tfrecord", TfrecordOf(rows));
  const auto source =
      *MakeFileSource(Call("read_tfrecord", path), {.pool = core::HeapPool()});
  ASSERT_THAT(source->List(), IsOk());
  const std::vector<core::Block> blocks = *ReadAll(*source, {0, 0, lanes::kRowsMax});
  EXPECT_LE(blocks.size(), 20U);
  for (const core::Block& block : blocks) {
    EXPECT_LE(block.rows(), kBlockRows);
    EXPECT_LE(block.content_bytes(), 2 * kBlockBytes);
  }
}

// So that the first error of a lane, and what comes before it, do not depend on where
// blocks end.
TEST(ScanReaderTest, RowsBeforeABadOneAreGivenFirst) {
  const TemporaryFolder folder;
  std::string bytes = TfrecordOf({"one", "two", "bad", "four"});
  bytes[2 * 19 + 12] ^= 1;
  const std::string path = folder.Write("a.tfrecord", bytes);
  const auto source =
      *MakeFileSource(Call("read_tfrecord", path), {.pool = core::HeapPool()});
  ASSERT_THAT(source->List(), IsOk());
  const auto reader = *source->Open({0, 0, lanes::kRowsMax});
  LeavesOut bad;
  std::vector<int64_t> rows;
  std::vector<size_t> told;
  while (true) {
    ASSERT_THAT(reader->Fetch(), IsOk());
    const auto block = reader->Next(bad);
    ASSERT_THAT(block, IsOk());
    if (!block->has_value()) break;
    rows.push_back((*block)->rows());
    told.push_back(bad.reasons.size());
  }
  EXPECT_THAT(rows, testing::ElementsAre(2, 1));
  EXPECT_THAT(told, testing::ElementsAre(0, 1));
}

// Wherever the one comes upon the other, neither is forgotten.
TEST(ScanReaderTest, ABadRowIsToldAlsoWhereTheRestIsLost) {
  const TemporaryFolder folder;
  constexpr int64_t kRowBytes = 100;
  std::string bytes = TfrecordOf(std::vector<std::string>(3000, Noise(kRowBytes)));
  for (const int64_t row : {3, 1400, 2999}) {
    std::string damaged = bytes;
    damaged[row * (kRowBytes + 16) + 12] ^= 1;
    damaged.resize(row * (kRowBytes + 16) + kRowBytes + 20);  // The next is cut off.
    const std::string path = folder.Write("a.tfrecord", damaged);
    LeavesOut bad;
    const auto rows = ReadPlain(Call("read_tfrecord", path), bad);
    ASSERT_THAT(rows, IsOk());
    EXPECT_EQ(std::ssize(rows->rows), row);
    ASSERT_THAT(bad.reasons, SizeIs(2)) << row;
    EXPECT_THAT(bad.reasons[0], HasSubstr("does not fit its checksum"));
    EXPECT_THAT(bad.reasons[1], HasSubstr("the rest of the file is left out"));
  }
}

}  // namespace
}  // namespace millrace::ops
