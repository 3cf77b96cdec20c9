#include "millrace/ops/source/index_writer.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/log.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/row_index.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using storage::RowFormat;

// A file in each format.
struct Sample {
  std::string name;
  std::string bytes;
  std::string call;
  std::string more;
  RowFormat format;
};

std::vector<Sample> Samples() {
  std::vector<std::string> rows;
  std::string lines;
  std::string tar;
  for (int i = 0; i < 300; ++i) {
    rows.push_back(storage::Noise(i * 331 % 9000, i));
    lines += base::StrCat(std::string(i * 7 % 40, 'x'), "\n");
    tar += storage::TarMember(base::StrCat(i, ".bin"), rows.back());
    tar += storage::TarMember(base::StrCat(i, ".other"), "abc");
  }
  rows.push_back(storage::Noise(3 << 20));  // Is fetched apart.
  return {{"a.tfrecord", storage::TfrecordOf(rows), "read_tfrecord", "",
           RowFormat::kTfrecord},
          {"a.txt", lines + "the end", "read_text", "", RowFormat::kLines},
          {"a.tar", tar + storage::TarEnd(), "read_tar", ", fields=[\"bin\"]",
           RowFormat::kTar},
          {"empty.txt", "", "read_text", "", RowFormat::kLines}};
}

class IndexWriterTest : public testing::Test {
 protected:
  // Reads rows of a file, and builds its index on the way.
  absl::Status Read(const Sample& sample, const lanes::RowRange& rows) {
    const auto source =
        TRY(MakeFileSource(Call(sample.call, folder_ / sample.name, sample.more),
                           {.pool = core::HeapPool(), .build_indexes = true}));
    TRY(source->List());
    LeavesOut bad;
    return ReadAll(*source, rows, bad).status();
  }

  std::optional<storage::RowIndex> IndexOf(const Sample& sample) {
    const storage::BlobStore& files = storage::ProcessFiles();
    return *storage::LoadIndex(files, *files.Find(folder_ / sample.name),
                               sample.format);
  }

  const storage::TemporaryFolder folder_;
};

constexpr lanes::RowRange kWhole = {0, 0, lanes::kRowsMax};

TEST_F(IndexWriterTest, WhoReadsAFileWholeIndexesIt) {
  for (const Sample& sample : Samples()) {
    const std::string path = folder_.Write(sample.name, sample.bytes);
    EXPECT_THAT(Read(sample, kWhole), IsOk());
    const std::optional<storage::RowIndex> built = IndexOf(sample);
    ASSERT_TRUE(built.has_value()) << sample.name;
    AddIndex(path, sample.format);
    EXPECT_EQ(*built, *IndexOf(sample)) << sample.name;
  }
}

TEST_F(IndexWriterTest, APartIsNoIndex) {
  const Sample sample = Samples()[0];
  folder_.Write(sample.name, sample.bytes);
  EXPECT_THAT(Read(sample, {0, 0, 10}), IsOk());
  EXPECT_THAT(Read(sample, {0, 10, lanes::kRowsMax}), IsOk());
  EXPECT_FALSE(IndexOf(sample).has_value());
  folder_.Write(sample.name, sample.bytes.substr(0, sample.bytes.size() / 2));
  EXPECT_THAT(Read(sample, kWhole), IsOk());  // The rest is left out.
  EXPECT_FALSE(IndexOf(sample).has_value());
}

TEST_F(IndexWriterTest, CompressedFilesHaveNone) {
  Sample sample = Samples()[0];
  sample.name = "a.tfrecord.gz";
  folder_.Write(sample.name, codec::Gzipped(sample.bytes));
  EXPECT_THAT(Read(sample, kWhole), IsOk());
  EXPECT_FALSE(std::filesystem::exists(storage::IndexPath(folder_ / sample.name)));
}

TEST_F(IndexWriterTest, WhereItCannotBeWrittenTheRowsAreGivenAllTheSame) {
  const Sample sample = Samples()[0];
  folder_.Write(sample.name, sample.bytes);
  // A folder stands where the index would.
  std::filesystem::create_directories(storage::IndexPath(folder_ / sample.name) + "/x");
  const storage::BlobStore& files = storage::ProcessFiles();
  IndexWriter writer(files, *files.Find(folder_ / sample.name), sample.format);
  writer.End(0);
  std::vector<std::string> told;
  base::SetLogSink(
      [&](const base::LogRecord& record) { told.emplace_back(record.message); });
  writer.Fetch();
  base::SetLogSink({});
  EXPECT_TRUE(writer.FetchNow());
  EXPECT_THAT(told, testing::ElementsAre("no index was written"));
}

}  // namespace
}  // namespace millrace::ops
