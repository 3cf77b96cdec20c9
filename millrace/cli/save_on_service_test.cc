#include "millrace/cli/save_on_service.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/text.h"
#include "millrace/cli/program_test.h"
#include "millrace/client/save.h"
#include "millrace/storage/samples_test.h"

namespace millrace::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SaveOnServiceTest, ProgressSaysWhatIsLeft) {
  client::SaveProgress progress;
  EXPECT_EQ(ShowProgress(progress, absl::Seconds(3)), "waiting for the service");
  progress = {.lanes = 100, .done = 40, .before = 20, .rows = 7, .bytes = 3 << 20};
  EXPECT_THAT(ShowProgress(progress, absl::Seconds(10)),
              AllOf(HasSubstr("lane 40 of 100, 3"), HasSubstr(", 30 s left")));
  progress.before = 40;  // Nobody knows how quick it is.
  EXPECT_THAT(ShowProgress(progress, absl::Seconds(10)),
              testing::Not(HasSubstr("left")));
}

// Processes as people start them.
class Processes {
 public:
  explicit Processes(const storage::TemporaryFolder& folder)
      : dispatcher_(
            {"dispatcher", "--listen", "127.0.0.1:0", "--state", folder / "state"}),
        address_(dispatcher_.Address()) {
    for (int i = 0; i < 2; ++i) AddWorker();
  }

  void AddWorker() {
    workers_.push_back(std::make_unique<Program>(
        std::vector<std::string>{"worker", "--join", address_, "--threads", "1"}));
    workers_.back()->Address();
  }

  void KillWorker() {
    workers_.front()->End(SIGKILL);
    workers_.erase(workers_.begin());
    AddWorker();
  }

  std::unique_ptr<Program> Save(const std::string& pipeline,
                                const std::string& folder) const {
    return std::make_unique<Program>(
        std::vector<std::string>{"save", pipeline, folder, "--service", address_});
  }

 private:
  Program dispatcher_;
  const std::string address_;
  std::vector<std::unique_ptr<Program>> workers_;
};

int64_t FilesIn(const std::string& folder) {
  std::error_code none;
  return std::distance(std::filesystem::directory_iterator(folder, none), {});
}

TEST(SaveOnServiceTest, AKilledCommandIsGoneOnWith) {
  const storage::TemporaryFolder folder;
  Processes processes(folder);
  const std::string pipeline = folder.Write(
      "pipeline.txt",
      "%0 = range(stop=20000)\n"
      "%1 = map(%0, function={x: .value, s: sum(range(20000 + .value % 2))})\n");
  const std::string to = folder / "rows";
  const std::unique_ptr<Program> killed = processes.Save(pipeline, to);
  while (FilesIn(to) < 20) base::RealClock().WaitFor(absl::Milliseconds(10), {});
  killed->End(SIGKILL);
  processes.KillWorker();
  const std::unique_ptr<Program> again = processes.Save(pipeline, to);
  const std::string output = again->Rest();
  EXPECT_EQ(again->Wait(), 0) << output;
  EXPECT_THAT(output, HasSubstr("20000 rows in 254 files"));
  const std::string load =
      folder.Write("load.txt", base::StrCat("%0 = load(path=\"", to, "\")\n"));
  EXPECT_THAT(OutputOf(base::StrCat(ProgramFolder(), "/millrace run ", load, " 2>&1")),
              HasSubstr("20000 rows"));
}

}  // namespace
}  // namespace millrace::cli
