// The kernel read_file, in expressions.

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class ReadFileTest : public testing::Test {
 protected:
  // Reads the files that the rows name by their numbers.
  std::string Map() const {
    return base::StrCat(
        "map(%0, function={content: read_file(text_join(to_text(.value), \".txt\"), "
        "root=\"",
        folder_.path(), "\")})");
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(ReadFileTest, GivesWhatIsInTheFiles) {
  folder_.Write("0.txt", "zero");
  folder_.Write("1.txt", "");
  folder_.Write("2.txt", std::string(100'000, 'x'));
  SingleOperator map(Map());
  ASSERT_THAT(map.Push(Numbers(0, 3)), base::IsOk());
  const core::Column& content = *map.out().blocks[0].Find("content");
  EXPECT_EQ(content.dtype(), core::DType::kBytes);
  EXPECT_EQ(content.TextAt(0), "zero");
  EXPECT_EQ(content.TextAt(1), "");
  EXPECT_EQ(content.TextAt(2).size(), 100'000);
}

TEST_F(ReadFileTest, AFileThatIsNotThereIsAnErrorOfTheRow) {
  folder_.Write("0.txt", "zero");
  SingleOperator map(Map());
  EXPECT_THAT(map.Push(Numbers(0, 2)),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("no file matches"), HasSubstr("1.txt"))));
}

TEST_F(ReadFileTest, AFolderIsNoFile) {
  std::filesystem::create_directory(folder_ / "0.txt");
  SingleOperator map(Map());
  EXPECT_THAT(map.Push(Numbers(0, 1)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a file")));
}

TEST_F(ReadFileTest, PathsAreTexts) {
  EXPECT_THAT(ir::Parse("%0 = range(stop=1)\n"
                        "%1 = map(%0, function={x: read_file(.value)})",
                        {}, DefaultLibrary().catalog()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one text")));
}

}  // namespace
}  // namespace millrace::ops
