#include "millrace/ops/source/first_rows.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source/scan_source.h"
#include "millrace/storage/lines.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using storage::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

ScanFormat Lines() {
  return {.format = storage::RowFormat::kLines,
          .spec = core::Spec({{"text", core::DType::kBytes, {}}}),
          .make_scanner = [](int64_t offset) {
            return std::make_unique<storage::LineScanner>(
                storage::LineOptions{.offset = offset});
          }};
}

TEST(FirstRowsTest, GivesTheRowsOfTheFirstFileThatHasAny) {
  const TemporaryFolder folder;
  folder.Write("a.txt", "");
  folder.Write("b.txt.lz4", codec::Lz4Framed("one\ntwo"));
  folder.Write("c.txt", "three\n");
  EXPECT_THAT(ReadFirstTexts({folder / "*"}, Lines()),
              IsOkAndHolds(ElementsAre("one", "two")));
}

TEST(FirstRowsTest, StopsAfterAThousandRows) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1500; ++i) text += base::StrCat(i, "\n");
  const auto rows = ReadFirstTexts({folder.Write("a.txt", text)}, Lines());
  ASSERT_THAT(rows, IsOk());
  EXPECT_EQ(rows->size(), 1000U);
  EXPECT_EQ(rows->back(), "999");
}

TEST(FirstRowsTest, StopsAfterAMebibyteBetweenRows) {
  const TemporaryFolder folder;
  const std::string row(300'000, 'x');
  std::string text;
  for (int i = 0; i < 10; ++i) text += base::StrCat(row, "\n");
  const auto rows = ReadFirstTexts({folder.Write("a.txt", text)}, Lines());
  ASSERT_THAT(rows, IsOk());
  EXPECT_EQ(rows->size(), 4U);
  EXPECT_EQ(rows->back(), row);
}

TEST(FirstRowsTest, WithoutRowsTheUserMustSay) {
  const TemporaryFolder folder;
  EXPECT_THAT(ReadFirstTexts({folder.Write("a.txt", "")}, Lines()),
              StatusIs(kInvalidArgument, HasSubstr("give argument fields")));
  EXPECT_THAT(ReadFirstTexts({folder / "none.txt"}, Lines()), StatusIs(kNotFound));
}

TEST(FirstRowsTest, WrongRowsAreLeftToWhoReadsThemAll) {
  const TemporaryFolder folder;
  const std::string frame = codec::Lz4Framed("one\ntwo\nthree\n");
  folder.Write("a.txt.lz4", frame.substr(0, frame.size() - 6));
  folder.Write("b.txt", "four\n");
  const absl::StatusOr<std::vector<std::string>> rows =
      ReadFirstTexts({folder / "*"}, Lines());
  ASSERT_THAT(rows, IsOk());
  EXPECT_FALSE(rows->empty());
}

}  // namespace
}  // namespace millrace::ops
