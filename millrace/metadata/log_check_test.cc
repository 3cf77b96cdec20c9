#include "millrace/metadata/log_check.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/metadata/embedded_store.h"
#include "millrace/metadata/folder_test.h"

namespace millrace::metadata {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

constexpr size_t kHeader = 32;
constexpr size_t kFrame = 24 + 4096;

// A log as the store writes it: some transactions of one event.
std::string Log(int transactions) {
  const StoreFolder folder;
  const auto store = EmbeddedStore::Open(folder.path()).value();
  for (int i = 0; i < transactions; ++i) {
    EXPECT_THAT(store->Append({base::StrCat("event ", i)}), IsOk());
  }
  return base::ReadFile(folder.log());
}

absl::Status Check(std::string_view log) {
  const StoreFolder folder;
  base::WriteFile(folder.log(), log);
  return CheckLog(folder.log());
}

TEST(LogCheckTest, NoLogAndGoodLogsAreGood) {
  const StoreFolder folder;
  EXPECT_THAT(CheckLog(folder.log()), IsOk());
  EXPECT_THAT(Check(""), IsOk());
  const std::string log = Log(5);
  ASSERT_EQ(log.size(), kHeader + 5 * kFrame);
  EXPECT_THAT(Check(log), IsOk());
}

TEST(LogCheckTest, ALogMayEndAnywhere) {
  const std::string log = Log(5);
  for (size_t bytes = 0; bytes < log.size(); bytes += 500) {
    EXPECT_THAT(Check(log.substr(0, bytes)), IsOk()) << bytes;
  }
}

TEST(LogCheckTest, FramesOfAnOlderLogDoNotCount) {
  std::string log = Log(2);
  log += Log(5).substr(kHeader);
  EXPECT_THAT(Check(log), IsOk());
}

TEST(LogCheckTest, AWrongFrameIsDamageWhenMoreThanOneTransactionEndsBehindIt) {
  const std::string log = Log(5);
  for (int frame = 0; frame < 5; ++frame) {
    for (const size_t place : {0, 5, 9, 17, 24, 4000}) {
      std::string bad = log;
      bad[kHeader + frame * kFrame + place] ^= 0x10;
      // A frame with another salt is not known to be of this log.
      const int lost = 5 - frame - (place == 9 ? 1 : 0);
      const std::string message =
          base::StrCat(": frame ", frame + 1, ", with ", lost, " transactions");
      if (lost >= 2) {
        EXPECT_THAT(Check(bad),
                    StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
      } else {
        EXPECT_THAT(Check(bad), IsOk()) << frame << " " << place;
      }
    }
  }
}

TEST(LogCheckTest, AWrongHeaderIsDamage) {
  const std::string log = Log(1);
  for (size_t place = 0; place < kHeader; ++place) {
    std::string bad = log;
    bad[place] ^= 0x10;
    EXPECT_THAT(Check(bad), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("header")))
        << place;
  }
}

}  // namespace
}  // namespace millrace::metadata
