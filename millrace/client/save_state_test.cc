#include "millrace/client/save_state.h"

#include <optional>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/save_state.h"
#include "millrace/base/status_matchers.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::client {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class SaveStateTest : public testing::Test {
 protected:
  absl::StatusOr<std::optional<api::SaveState>> Read() const {
    return ReadSaveState(storage::ProcessFiles(), folder_.path());
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(SaveStateTest, IsReadAsItWasWritten) {
  EXPECT_THAT(Read(), IsOkAndHolds(std::nullopt));
  const api::SaveState state = {.name = "1f",
                                .pipeline = "ab",
                                .format = "tar",
                                .seed = 7,
                                .state = "{\"a\": 1}",
                                .lanes = {{0, 10, 100}, {3, 0, 5}}};
  ASSERT_THAT(WriteSaveState(storage::ProcessFiles(), folder_.path(), state), IsOk());
  EXPECT_THAT(Read(), IsOkAndHolds(state));
}

TEST_F(SaveStateTest, WhatIsDamagedIsNamedWithWhatToDo) {
  for (const char* text : {"", "{", "[]", "{\"millrace\": 2}", "{\"lanes\": 3}"}) {
    folder_.Write("saving-state.json", text);
    EXPECT_THAT(Read(),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("saving-state.json"), HasSubstr("replaced"))))
        << text;
  }
}

}  // namespace
}  // namespace millrace::client
