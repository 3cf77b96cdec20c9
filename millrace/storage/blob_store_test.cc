#include "millrace/storage/blob_store.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::storage {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;

TEST(BlobStoreTest, ReadsWholeFilesUpToALimit) {
  const TemporaryFolder folder;
  const BlobInfo info = *ProcessFiles().Find(folder.Write("a", "content"));
  EXPECT_THAT(ReadWhole(ProcessFiles(), info, 7), IsOkAndHolds("content"));
  EXPECT_THAT(ReadWhole(ProcessFiles(), info, 6),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("too large")));
  const BlobInfo empty = *ProcessFiles().Find(folder.Write("b", ""));
  EXPECT_THAT(ReadWhole(ProcessFiles(), empty, 6), IsOkAndHolds(""));
}

}  // namespace
}  // namespace millrace::storage
