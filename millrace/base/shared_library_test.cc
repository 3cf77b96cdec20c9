#include "millrace/base/shared_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::base {
namespace {

TEST(SharedLibraryTest, FindsWhatALibraryExports) {
  // Not fopen and the like: sanitizers have their own of these.
  const std::string path = LibraryOf(reinterpret_cast<const void*>(&std::labs));
  ASSERT_NE(path, "");
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(path);
  ASSERT_THAT(library, IsOk());
  auto* const absolute = library->Find<int(int)>("abs");
  ASSERT_NE(absolute, nullptr);
  EXPECT_EQ(absolute(-3), 3);
  EXPECT_EQ(library->Find<int(int)>("no_such_function_here"), nullptr);
}

TEST(SharedLibraryTest, SaysWhyAFileIsNone) {
  const std::string path = StrCat(testing::TempDir(), "shared_library_test.so");
  EXPECT_THAT(SharedLibrary::Open(path), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                  testing::HasSubstr(path)));
  std::ofstream(path) << "not a library";
  EXPECT_THAT(SharedLibrary::Open(path), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                  testing::HasSubstr(path)));
  std::filesystem::remove(path);
}

TEST(SharedLibraryTest, ABareNameIsAFileOfThisFolder) {
  EXPECT_FALSE(SharedLibrary::Open("libc.so.6").ok());
}

TEST(SharedLibraryTest, KnowsWhereAnAddressIs) {
  const std::string here = LibraryOf(reinterpret_cast<const void*>(&LibraryOf));
  EXPECT_THAT(here, testing::HasSubstr("base_test"));
  EXPECT_EQ(LibraryOf(nullptr), "");
}

}  // namespace
}  // namespace millrace::base
