// What happens to files under a pass that reads them: one error that names operator and
// file, or the rows that are wrong left out and counted; never more memory than the
// budget, and always an end.

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

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"
#include "millrace/profile/facts.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kNotFound;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class FaultyFilesTest : public testing::TestWithParam<int> {
 protected:
  // Four files of 1000 rows, of so many bytes each.
  void WriteFiles(int64_t row_bytes) {
    for (int file = 0; file < 4; ++file) {
      std::vector<std::string> rows;
      for (int row = 0; row < 1000; ++row) {
        rows.push_back(storage::Noise(row_bytes, file * 1000 + row));
      }
      folder_.Write(base::StrCat(file, ".tfrecord"), storage::TfrecordOf(rows));
    }
  }

  std::string Read(const std::string& then = "") {
    return base::StrCat("%0 = read_tfrecord(paths=[\"", folder_.path(),
                        "/*.tfrecord\"])", then);
  }

  std::unique_ptr<Iterator> Open(const std::string& text) {
    auto iterator = engine_.Open(AsWritten(text), ops::DefaultLibrary(), {});
    CHECK(iterator.ok()) << iterator.status();
    return *std::move(iterator);
  }

  // Takes all there is; tells how it ended.
  absl::Status Drain(Iterator& iterator) {
    while (true) {
      absl::StatusOr<std::optional<core::Block>> block = iterator.Next();
      if (!block.ok()) return block.status();
      if (!block->has_value()) return absl::OkStatus();
      rows_ += (*block)->rows();
    }
  }

  const storage::TemporaryFolder folder_;
  Engine engine_{{.threads = GetParam(), .memory_bytes = int64_t{32} << 20}};
  int64_t rows_ = 0;
};

// Files of more than fits into the memory budget, so that the last is not open yet.
TEST_P(FaultyFilesTest, OneThatVanishesIsNamed) {
  WriteFiles(20'000);
  const auto iterator = Open(Read());
  std::filesystem::remove(folder_ / "3.tfrecord");
  const absl::Status end = Drain(*iterator);
  EXPECT_THAT(end, StatusIs(kNotFound, AllOf(HasSubstr("read_tfrecord (%0)"),
                                             HasSubstr("3.tfrecord"))));
  EXPECT_EQ(iterator->Next().status(), end);
}

TEST_P(FaultyFilesTest, OneThatChangedSinceTheListingIsNamed) {
  WriteFiles(20'000);
  const auto iterator = Open(Read());
  folder_.Write("3.tfrecord", "other content");
  EXPECT_THAT(Drain(*iterator),
              StatusIs(kFailedPrecondition, AllOf(HasSubstr("read_tfrecord (%0)"),
                                                  HasSubstr("3.tfrecord"))));
}

TEST_P(FaultyFilesTest, OneThatBecomesShorterWhileItIsReadIsNamed) {
  WriteFiles(20'000);  // More than fits into the memory budget.
  const auto iterator = Open(Read());
  ASSERT_TRUE((*iterator->Next()).has_value());
  for (int file = 0; file < 4; ++file) {
    std::filesystem::resize_file(folder_ / base::StrCat(file, ".tfrecord"), 100);
  }
  EXPECT_THAT(Drain(*iterator),
              StatusIs(kFailedPrecondition, HasSubstr("read_tfrecord (%0)")));
}

// What is wrong with the world is not what is wrong with a row.
TEST_P(FaultyFilesTest, AFileThatIsGoneIsNotIgnored) {
  WriteFiles(20'000);
  const auto iterator = Open(Read("\n%1 = ignore_errors(%0)"));
  ASSERT_TRUE((*iterator->Next()).has_value());
  std::filesystem::remove(folder_ / "3.tfrecord");
  EXPECT_THAT(Drain(*iterator), StatusIs(kNotFound, HasSubstr("3.tfrecord")));
}

TEST_P(FaultyFilesTest, TheRestOfTheDataIsDeliveredAndTheWrongRowsCounted) {
  WriteFiles(1000);
  const std::string path = folder_ / "1.tfrecord";
  std::string bytes = storage::ReadFile(path);
  bytes[500 * 1016 + 600] ^= 1;      // One row's content; ...
  bytes.resize(bytes.size() - 500);  // ... and the last is cut off.
  folder_.Write("1.tfrecord", bytes);
  const auto failing = Open(Read());
  EXPECT_THAT(Drain(*failing).message(),
              AllOf(HasSubstr("read_tfrecord (%0)"), HasSubstr(path),
                    HasSubstr("at byte 508000")));
  rows_ = 0;
  const auto iterator = Open(Read("\n%1 = ignore_errors(%0)\n%2 = batch(%1, size=1)"));
  EXPECT_THAT(Drain(*iterator), base::IsOk());
  EXPECT_EQ(rows_, 3998);
  const profile::PassFacts facts = iterator->Facts();
  EXPECT_EQ(facts.operators[0].rows_left_out, 2);
  EXPECT_THAT(facts.first_left_out, testing::Each(HasSubstr(path)));
}

// A small file that becomes a large one: it is read piece by piece.
TEST_P(FaultyFilesTest, ABombStaysWithinTheBudget) {
  folder_.Write("bomb.txt.gz", codec::Gzipped(std::string(int64_t{300} << 20, '\n')));
  const auto iterator = Open(base::StrCat("%0 = read_text(paths=[\"", folder_.path(),
                                          "/*.gz\"])\n%1 = batch(%0, size=100000)"));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE((*iterator->Next()).has_value());
  EXPECT_LT(engine_.memory().peak_bytes, int64_t{48} << 20);
}

TEST_P(FaultyFilesTest, ARowThatThereIsNoMemoryForIsNamedAndCanBeLeftOut) {
  folder_.Write("a.txt", "one\ntwo\n");
  folder_.Write("b.txt.gz", codec::Gzipped("three\n" + std::string(300 << 20, 'x')));
  folder_.Write("c.txt", "four\n");
  const std::string read =
      base::StrCat("%0 = read_text(paths=[\"", folder_.path(), "/*.txt*\"])");
  const auto failing = Open(read);
  EXPECT_THAT(Drain(*failing).message(),
              AllOf(HasSubstr("read_text (%0)"), HasSubstr("b.txt.gz"),
                    HasSubstr("row 1 is longer than the 16777216 bytes"),
                    HasSubstr("at byte 6")));
  rows_ = 0;
  const auto forgiving = Open(read + "\n%1 = ignore_errors(%0)");
  EXPECT_THAT(Drain(*forgiving), base::IsOk());
  EXPECT_EQ(rows_, 4);
  EXPECT_EQ(forgiving->Facts().operators[0].rows_left_out, 1);
  EXPECT_LT(engine_.memory().peak_bytes, int64_t{96} << 20);
}

TEST_P(FaultyFilesTest, ALongRecordIsNotReadInVain) {
  folder_.Write("0.tfrecord",
                storage::TfrecordOf({"a", storage::Noise(20 << 20), "b"}));
  const auto iterator = Open(Read());
  EXPECT_THAT(Drain(*iterator).message(),
              AllOf(HasSubstr("read_tfrecord (%0)"), HasSubstr("0.tfrecord"),
                    HasSubstr("row 1 is longer than")));
  EXPECT_LT(engine_.memory().peak_bytes, int64_t{8} << 20);
}

INSTANTIATE_TEST_SUITE_P(Threads, FaultyFilesTest, testing::Values(1, 4));

}  // namespace
}  // namespace millrace::exec
