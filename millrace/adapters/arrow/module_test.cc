#include "millrace/adapters/arrow/module.h"

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/interface.h"
#include "millrace/base/shared_library.h"
#include "millrace/base/status_matchers.h"
#include "millrace/storage/samples_test.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kResourceExhausted;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

TEST(ModuleTest, WhatCannotBeLoadedSaysWhatToDo) {
  EXPECT_THAT(OpenModuleAt("/nowhere/libmillrace_arrow.so"),
              StatusIs(kFailedPrecondition, AllOf(HasSubstr("cannot be loaded"),
                                                  HasSubstr("build Millrace anew"))));
  const storage::TemporaryFolder folder;
  const std::string text = folder.Write("libmillrace_arrow.so", "not a library");
  EXPECT_THAT(OpenModuleAt(text.c_str()), StatusIs(kFailedPrecondition));
}

TEST(ModuleTest, AnotherLibraryIsNotTheModule) {
  const std::string libc = base::LibraryOf(reinterpret_cast<const void*>(&std::getenv));
  EXPECT_THAT(OpenModuleAt(libc.c_str()),
              StatusIs(kFailedPrecondition, HasSubstr("is not Millrace's module")));
}

TEST(ModuleTest, ErrorsNameTheFile) {
  const MillraceArrowError error = {"no magic"};
  EXPECT_THAT(ErrorOf(kMillraceArrowData, error, "a.parquet"),
              StatusIs(kDataLoss, "Arrow cannot read it: no magic; file a.parquet"));
  EXPECT_THAT(ErrorOf(kMillraceArrowMemory, error, "a"), StatusIs(kResourceExhausted));
}

TEST(ModuleTest, IsOpenedOnce) {
  const auto module = OpenModule();
  if (!module.ok()) GTEST_SKIP() << module.status();
  EXPECT_EQ(*module, *OpenModule());
  EXPECT_EQ((*module)->version, kMillraceArrowVersion);
}

}  // namespace
}  // namespace millrace::arrow
