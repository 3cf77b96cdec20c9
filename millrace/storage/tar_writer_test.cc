#include "millrace/storage/tar_writer.h"

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::storage {
namespace {

TEST(TarWriterTest, WritesWhatTarItselfReads) {
  const TemporaryFolder folder;
  const std::string path = base::StrCat(folder.path(), "/a.tar");
  TarWriter writer(*ProcessFiles().Create(path));
  ASSERT_THAT(writer.Add("0001.txt", "hello"), base::IsOk());
  ASSERT_THAT(writer.Add("0001.cls", ""), base::IsOk());
  ASSERT_THAT(writer.Add("0002.txt", std::string(1000, 'x')), base::IsOk());
  EXPECT_FALSE(ProcessFiles().Find(path).ok());  // Not before it is whole.
  ASSERT_THAT(writer.Publish(), base::IsOk());
  const std::string test = base::StrCat(
      "tar -xf ", path, " -C ", folder.path(), " && test \"$(cat ", folder.path(),
      "/0001.txt)\" = hello && test $(wc -c < ", folder.path(), "/0002.txt) = 1000");
  EXPECT_EQ(std::system(test.c_str()), 0);
}

TEST(TarWriterTest, RefusesNamesThatTheFormatCannotHold) {
  const TemporaryFolder folder;
  TarWriter writer(*ProcessFiles().Create(base::StrCat(folder.path(), "/a.tar")));
  EXPECT_EQ(writer.Add(std::string(101, 'x'), "").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer.Add("", "").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millrace::storage
