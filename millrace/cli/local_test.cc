// A service on one machine as people start it: real processes, some of which are
// killed.

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/cli/program_test.h"

namespace millrace::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

class LocalTest : public testing::Test {
 protected:
  void Start(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"local", "--workers", "2",          "--threads",
                                      "1",     "--listen",  "127.0.0.1:0"};
    words.insert(words.end(), more.begin(), more.end());
    service_ = std::make_unique<Program>(words, Program::Errors::kAmongOutput);
    std::string line = service_->Line();
    while (!line.empty() && line.find("local service listens") == std::string::npos) {
      line = service_->Line();  // The dispatcher's, say.
    }
    address_ = line.substr(line.rfind(' ') + 1);
    children_ = ChildrenOf(service_->process());
  }

  // The next line of the service that says this.
  std::string LineWith(const std::string& text) {
    std::string line = service_->Line();
    while (!line.empty() && line.find(text) == std::string::npos) {
      line = service_->Line();
    }
    return line;
  }

  bool NoneIsLeft() const {
    return Eventually([&] { return std::ranges::none_of(children_, IsAlive); });
  }

  static std::string Millrace(const std::string& words) {
    return OutputOf(base::StrCat(ProgramFolder(), "/millrace ", words, " 2>&1"));
  }

  std::unique_ptr<Program> service_;
  std::string address_;
  std::vector<pid_t> children_;
};

TEST_F(LocalTest, IsAServiceThatRunsPipelines) {
  Start();
  EXPECT_THAT(children_, SizeIs(3));
  EXPECT_THAT(LineWith("distribute"), HasSubstr("\"millrace://" + address_ + "\""));
  const base::TemporaryFolder folder;
  const std::string file =
      folder.Write("pipeline", "%0 = range(stop=100)\n%1 = batch(%0, size=10)\n");
  EXPECT_THAT(Millrace("run --show 0 --service " + address_ + " " + file),
              EndsWith("10 batches\n"));
  EXPECT_EQ(service_->End(SIGTERM), 0);
  EXPECT_TRUE(NoneIsLeft());
}

TEST_F(LocalTest, TakesItsProcessesWithItWhenItIsKilled) {
  Start();
  ASSERT_THAT(children_, SizeIs(3));
  service_->End(SIGKILL);
  EXPECT_TRUE(NoneIsLeft());
}

TEST_F(LocalTest, TellsOfWorkersThatEndAndEndsWithTheLast) {
  Start();
  ASSERT_THAT(children_, SizeIs(3));
  kill(children_[1], SIGKILL);
  EXPECT_THAT(LineWith("worker 1"),
              AllOf(HasSubstr("ended by signal 9"), HasSubstr("not started again")));
  EXPECT_TRUE(IsAlive(children_[0]));
  EXPECT_TRUE(IsAlive(children_[2]));
  kill(children_[2], SIGKILL);
  EXPECT_THAT(service_->Rest(), HasSubstr("no worker is left"));
  EXPECT_EQ(WEXITSTATUS(service_->Wait()), 1);
  EXPECT_TRUE(NoneIsLeft());
}

TEST_F(LocalTest, EndsWithItsDispatcher) {
  Start();
  ASSERT_THAT(children_, SizeIs(3));
  kill(children_[0], SIGKILL);
  EXPECT_THAT(service_->Rest(), HasSubstr("the dispatcher has ended"));
  EXPECT_EQ(WEXITSTATUS(service_->Wait()), 1);
  EXPECT_TRUE(NoneIsLeft());
}

TEST_F(LocalTest, KeepsJobsWhereItIsTold) {
  const base::TemporaryFolder folder;
  for (const std::string jobs : {"There are no jobs.", "mine"}) {
    Start({"--state", folder / "state"});
    EXPECT_THAT(Millrace("jobs --dispatcher " + address_), HasSubstr(jobs));
    const std::string file =
        folder.Write("pipeline", "%0 = range(stop=100)\n%1 = batch(%0, size=10)\n");
    Millrace("run --job mine --service " + address_ + " " + file);
    EXPECT_EQ(service_->End(SIGINT), 0);
  }
}

TEST_F(LocalTest, SaysWhatIsWrong) {
  Start();
  EXPECT_THAT(Millrace("local --listen " + address_),
              AllOf(HasSubstr(address_), HasSubstr("the dispatcher did not start")));
  EXPECT_THAT(Millrace("local --listen 127.0.0.1:0 --allow-python"),
              HasSubstr("--allow-python needs a token"));
  EXPECT_THAT(Millrace("local --workers 0"), HasSubstr("--workers"));
}

}  // namespace
}  // namespace millrace::cli
