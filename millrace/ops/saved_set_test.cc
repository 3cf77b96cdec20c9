#include "millrace/ops/saved_set.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class SavedSetTest : public testing::Test {
 protected:
  // What is read where the list holds this.
  absl::StatusOr<SavedSet> Read(const std::string& text) {
    folder_.Write("saved.json", text);
    return ReadSavedSet(storage::ProcessFiles(), folder_.path());
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(SavedSetTest, IsReadAsItWasWritten) {
  const SavedSet saved = {.format = "frames",
                          .fields = "{\"a\\\"b\": int64}",
                          .files = {{"rows-000000.frames", 10}, {"ü \"x\"", 0}}};
  ASSERT_THAT(WriteSavedSet(storage::ProcessFiles(), folder_.path(), saved), IsOk());
  EXPECT_THAT(ReadSavedSet(storage::ProcessFiles(), folder_.path()),
              IsOkAndHolds(saved));
}

TEST_F(SavedSetTest, AFolderWithoutOneSaysSo) {
  EXPECT_THAT(ReadSavedSet(storage::ProcessFiles(), folder_.path()),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(folder_.path()), HasSubstr("save it"))));
}

TEST_F(SavedSetTest, WhatIsDamagedIsNamed) {
  for (const std::string& text : {
           std::string("{"),
           std::string("[]"),
           std::string(R"({"millrace": 2, "format": "f", "fields": "", "files": {}})"),
           std::string(R"({"millrace": 1, "format": 7, "fields": "", "files": {}})"),
           std::string(R"({"millrace": 1, "format": "f", "fields": ""})"),
           std::string(
               R"({"millrace": 1, "format": "f", "fields": "", "files": {"a": -1}})"),
           std::string(
               R"({"millrace": 1, "format": "f", "fields": "", "files": {"../a": 1}})"),
           std::string(
               R"({"millrace": 1, "format": "f", "fields": "", "files": {"a": "x"}})"),
       }) {
    EXPECT_THAT(Read(text),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("saved.json")))
        << text;
  }
}

}  // namespace
}  // namespace millrace::ops
