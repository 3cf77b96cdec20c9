#include "millrace/ops/saved_set.h"

#include <filesystem>
#include <string>
#include <vector>

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
using testing::ElementsAre;
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

TEST_F(SavedSetTest, NamesOfFilesAreInOrder) {
  EXPECT_EQ(SavedFileName(7, "", ".frames"), "rows-000007.frames");
  EXPECT_EQ(SavedFileName(123'456, "1f", ".tar"), "rows-123456-1f.tar");
  EXPECT_LT(SavedFileName(9, "x", ""), SavedFileName(10, "x", ""));
}

TEST_F(SavedSetTest, WhatIsBeingSavedIsReadAsItWasWritten) {
  const storage::BlobStore& files = storage::ProcessFiles();
  EXPECT_THAT(ReadUnfinishedSet(files, folder_.path()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_.path())));
  const UnfinishedSet saving = {.format = "frames",
                                .fields = "{x: int64}",
                                .name = "1f",
                                .ending = ".frames",
                                .lanes = 17,
                                .beats = 3,
                                .failed = "the disk \"a\" is full"};
  ASSERT_THAT(WriteUnfinishedSet(files, folder_.path(), saving), IsOk());
  EXPECT_THAT(ReadUnfinishedSet(files, folder_.path()), IsOkAndHolds(saving));
}

TEST_F(SavedSetTest, WhatIsBeingSavedMayBeDamagedToo) {
  for (const std::string& text : {
           std::string("{"),
           std::string(R"({"millrace": 2})"),
           std::string(R"({"millrace": 1, "format": "f", "fields": "", "name": "",
               "ending": "", "lanes": -1, "beats": 0, "failed": ""})"),
           std::string(R"({"millrace": 1, "format": "f", "fields": "", "name": "../x",
               "ending": "", "lanes": 1, "beats": 0, "failed": ""})"),
       }) {
    folder_.Write("saving.json", text);
    EXPECT_THAT(ReadUnfinishedSet(storage::ProcessFiles(), folder_.path()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("saving.json")))
        << text;
  }
}

TEST_F(SavedSetTest, AFolderIsClearedOfAllThatWasSavedThere) {
  const auto clear = [&](bool replace) {
    return ClearSavedSet(storage::ProcessFiles(), folder_.path(), replace);
  };
  EXPECT_THAT(clear(false), IsOk());
  folder_.Write("rows-000000.frames", "");  // Of a save that was killed.
  folder_.Write("notes.txt", "");
  EXPECT_THAT(clear(false), IsOk());
  for (const std::string name : {"saved.json", "saving-state.json"}) {
    folder_.Write(name, "");
    folder_.Write("saving.json", "");
    folder_.Write("rows-000001-1f.tar", "");
    EXPECT_THAT(clear(false),
                StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("replaced")));
    EXPECT_THAT(clear(true), IsOk());
    std::vector<std::string> left;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      left.push_back(file.path().filename());
    }
    EXPECT_THAT(left, ElementsAre("notes.txt"));
  }
}

}  // namespace
}  // namespace millrace::ops
