#include "millrace/storage/row_index.h"

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

#include "millrace/base/status_matchers.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::storage {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kFailedPrecondition;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

const BlobInfo kFile = {.path = "a", .bytes = 1'000'000, .version = "17-1000000"};

RowIndex Sample() { return RowIndex({0, 1, 130, 20'000, 999'999, 1'000'000}); }

std::string Encoded() { return EncodeIndex(Sample(), RowFormat::kTar, kFile); }

// The same with a checksum that fits, so that what is behind it is looked at.
std::string Resealed(std::string bytes) {
  bytes.resize(bytes.size() - 4);
  return bytes + MaskedCrc(bytes);
}

absl::StatusOr<RowIndex> Built(const std::string& content, RowFormat format) {
  const TemporaryFolder folder;
  const auto blob =
      ProcessFiles().Open(*ProcessFiles().Find(folder.Write("a", content)));
  return BuildIndex(**blob, *MakeScanner(format));
}

TEST(RowIndexTest, ReadsBackWhatItWrote) {
  EXPECT_THAT(DecodeIndex(Encoded(), RowFormat::kTar, kFile), IsOkAndHolds(Sample()));
  const std::string none = EncodeIndex(RowIndex({0}), RowFormat::kLines, kFile);
  EXPECT_THAT(DecodeIndex(none, RowFormat::kLines, kFile), IsOkAndHolds(RowIndex({0})));
}

TEST(RowIndexTest, TheFormatIsAsItsPageSays) {
  const BlobInfo file = {.path = "a", .bytes = 300, .version = "v"};
  EXPECT_EQ(EncodeIndex(RowIndex({0, 5, 300}), RowFormat::kTar, file), [] {
    const std::string head = std::string("mrindex1tar\0\0\0\0\0", 16) +
                             LittleEndian(300, 8) + LittleEndian(1, 2) + "v" +
                             LittleEndian(2, 8) + std::string("\x00\x05\xa7\x02", 4);
    return head + MaskedCrc(head);
  }());
}

TEST(RowIndexTest, AStaleOneIsNeverUsed) {
  BlobInfo longer = kFile;
  longer.bytes += 1;
  BlobInfo later = kFile;
  later.version = "18-1000000";
  for (const BlobInfo& file : {longer, later}) {
    EXPECT_THAT(DecodeIndex(Encoded(), RowFormat::kTar, file),
                StatusIs(kFailedPrecondition, HasSubstr("stale")));
  }
  EXPECT_THAT(DecodeIndex(Encoded(), RowFormat::kLines, kFile),
              StatusIs(kFailedPrecondition));
}

TEST(RowIndexTest, EveryChangedBitAndEveryCutIsNoticed) {
  const std::string bytes = Encoded();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(DecodeIndex(bytes.substr(0, size), RowFormat::kTar, kFile),
                StatusIs(kDataLoss));
  }
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(DecodeIndex(changed, RowFormat::kTar, kFile), StatusIs(kDataLoss));
  }
}

TEST(RowIndexTest, HostileOnesWithFittingChecksumsAreRefused) {
  const std::string bytes = Encoded();
  const size_t rows = 16 + 8 + 2 + kFile.version.size();
  const auto decode = [](const std::string& hostile) {
    return DecodeIndex(Resealed(hostile), RowFormat::kTar, kFile);
  };
  std::string many = bytes;
  many.replace(rows, 8, LittleEndian(uint64_t{1} << 60, 8));
  EXPECT_THAT(decode(many), StatusIs(kDataLoss, HasSubstr("fewer rows")));
  std::string fewer = bytes;
  fewer.replace(rows, 8, LittleEndian(4, 8));
  EXPECT_THAT(decode(fewer), StatusIs(kDataLoss, HasSubstr("mean nothing")));
  std::string still = bytes;
  still[rows + 8 + 1] = 0;
  EXPECT_THAT(decode(still), StatusIs(kDataLoss, HasSubstr("has no bytes")));
  std::string far = bytes;
  far[rows + 8] = 9;
  EXPECT_THAT(decode(far), StatusIs(kDataLoss, HasSubstr("behind the file")));
  std::string endless = bytes;
  endless.replace(rows + 8, 10, std::string(10, '\xff'));
  EXPECT_THAT(decode(endless), StatusIs(kDataLoss));
}

TEST(RowIndexTest, FindsTheRowsOfEachFormat) {
  EXPECT_THAT(Built("a\nbb\r\nc", RowFormat::kLines)->offsets(),
              ElementsAre(0, 2, 6, 7));
  EXPECT_THAT(
      Built(TfrecordOf({"", std::string(100'000, 'x'), "z"}), RowFormat::kTfrecord)
          ->offsets(),
      ElementsAre(0, 16, 100'032, 100'049));
  const std::string tar = TarMember("d", "", '5') + TarMember("a.x", "1") +
                          TarMember("a.y", Noise(200'000)) + TarMember("b.x", "2");
  EXPECT_THAT(Built(tar + TarEnd(), RowFormat::kTar)->offsets(),
              ElementsAre(512, 512 + 1024 + 512 + 200'192, tar.size()));
}

TEST(RowIndexTest, LongRowsAndManyRowsAreFoundInPieces) {
  std::string text;
  std::vector<int64_t> offsets = {0};
  for (int i = 0; i < 3000; ++i) {
    text += std::string(i % 200 == 0 ? 90'000 : i % 50, 'x') + "\n";
    offsets.push_back(static_cast<int64_t>(text.size()));
  }
  EXPECT_EQ(Built(text, RowFormat::kLines)->offsets(), offsets);
}

TEST(RowIndexTest, EmptyFilesHaveNoRows) {
  for (const RowFormat format :
       {RowFormat::kLines, RowFormat::kTar, RowFormat::kTfrecord}) {
    EXPECT_EQ(Built("", format)->rows(), 0);
  }
}

TEST(RowIndexTest, DamagedFilesAreNotIndexed) {
  std::string bytes = TfrecordOf({"one", "two"});
  EXPECT_THAT(Built(bytes.substr(0, bytes.size() - 5), RowFormat::kTfrecord),
              StatusIs(kDataLoss));
  bytes[19] ^= 1;
  EXPECT_THAT(Built(bytes, RowFormat::kTfrecord),
              StatusIs(kDataLoss, HasSubstr("at byte 19")));
}

TEST(RowIndexTest, StandsBesideItsFileUntilThatChanges) {
  const TemporaryFolder folder;
  const BlobStore& files = ProcessFiles();
  const BlobInfo file = *files.Find(folder.Write("a.txt", "one\ntwo\n"));
  EXPECT_THAT(LoadIndex(files, file, RowFormat::kLines), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(SaveIndex(files, file, RowFormat::kLines, RowIndex({0, 4, 8})), IsOk());
  EXPECT_THAT(LoadIndex(files, file, RowFormat::kLines),
              IsOkAndHolds(std::optional(RowIndex({0, 4, 8}))));
  EXPECT_THAT(LoadIndex(files, file, RowFormat::kTar), IsOkAndHolds(std::nullopt));
  const BlobInfo changed = *files.Find(folder.Write("a.txt", "one\nthree\n"));
  EXPECT_THAT(LoadIndex(files, changed, RowFormat::kLines), IsOkAndHolds(std::nullopt));
}

TEST(RowIndexTest, ADamagedOneBesideAFileIsNamed) {
  const TemporaryFolder folder;
  const BlobInfo file = *ProcessFiles().Find(folder.Write("a.txt", "one\ntwo\n"));
  folder.Write("a.txt.mrindex", "anything");
  EXPECT_THAT(LoadIndex(ProcessFiles(), file, RowFormat::kLines),
              StatusIs(kDataLoss, HasSubstr("a.txt.mrindex (remove it")));
}

}  // namespace
}  // namespace millrace::storage
