#include "millrace/metadata/whole_file.h"

#include <filesystem>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/metadata/folder_test.h"

namespace millrace::metadata {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

TEST(WholeFileTest, MakesAFileAndLeavesOneThatIsThere) {
  const StoreFolder folder;
  const std::string content(100'000, 'x');
  EXPECT_THAT(MakeWholeFile(folder.file(), content), IsOk());
  EXPECT_EQ(base::ReadFile(folder.file()), content);
  EXPECT_THAT(MakeWholeFile(folder.file(), "other"), IsOk());
  EXPECT_EQ(base::ReadFile(folder.file()), content);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(WholeFileTest, SaysWhatToDoWhereThereIsNoFolder) {
  const StoreFolder folder;
  const std::string path = base::StrCat(folder.path(), "/missing/file");
  EXPECT_THAT(MakeWholeFile(path, ""),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(path), HasSubstr("mkdir -p"))));
}

}  // namespace
}  // namespace millrace::metadata
