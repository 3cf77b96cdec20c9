// The service as people start it: real processes, some of which are killed.

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/cli/program_test.h"

namespace millrace::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A process of `millrace`, which dies with this test at the latest.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    int ends[2];
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t parent = getpid();
    pid_ = fork();
    CHECK_GE(pid_, 0);
    if (pid_ == 0) Become(std::move(arguments), ends[1], parent);
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
    CHECK(output_ != nullptr);
  }

  ~Program() {
    if (pid_ > 0) End(SIGKILL);
    fclose(output_);
  }

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The next line that it prints, without its end.
  std::string Line() {
    std::string line;
    for (int c = fgetc(output_); c != EOF && c != '\n'; c = fgetc(output_)) {
      line.push_back(static_cast<char>(c));
    }
    return line;
  }

  std::string Rest() {
    std::string rest;
    for (int c = fgetc(output_); c != EOF; c = fgetc(output_)) {
      rest.push_back(static_cast<char>(c));
    }
    return rest;
  }

  // Sends it a signal, and waits for its end; gives how it ended.
  int End(int signal) {
    kill(pid_, signal);
    return Wait();
  }

  int Wait() {
    int status = 0;
    CHECK_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return status;
  }

  // The address that it says it listens on.
  std::string Address() {
    const std::string line = Line();
    CHECK(line.find(" listens on ") != std::string::npos) << line;
    return line.substr(line.rfind(' ') + 1);
  }

 private:
  [[noreturn]] static void Become(std::vector<std::string> arguments, int output,
                                  pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(output, STDOUT_FILENO);
    const std::string program = ProgramFolder() + "/millrace";
    std::vector<char*> raw = {const_cast<char*>(program.c_str())};
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    execv(program.c_str(), raw.data());
    _exit(127);
  }

  pid_t pid_ = -1;
  FILE* output_ = nullptr;
};

class ServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              base::StrCat("millrace-service-", getpid());
    std::filesystem::create_directories(folder_);
    StartDispatcher("127.0.0.1:0");
    for (int i = 0; i < 2; ++i) AddWorker();
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  void StartDispatcher(const std::string& listen) {
    dispatcher_ = std::make_unique<Program>(std::vector<std::string>{
        "dispatcher", "--listen", listen, "--state", folder_ / "state"});
    address_ = dispatcher_->Address();
  }

  void AddWorker() {
    workers_.push_back(std::make_unique<Program>(
        std::vector<std::string>{"worker", "--join", address_, "--threads", "1"}));
    workers_.back()->Address();
  }

  // A job of so many batches of four rows; a few of them are shown.
  std::unique_ptr<Program> Run(int64_t batches) {
    const std::string file = folder_ / "pipeline.txt";
    std::ofstream(file) << "millrace 1\n%0 = range(start=0, stop=" << batches * 4
                        << ")\n%1 = map(%0, function={x: .value * 2})\n"
                        << "%2 = batch(%1, size=4)\n";
    return std::make_unique<Program>(std::vector<std::string>{
        "run", file, "--service", address_, "--job", "job", "--show", "1"});
  }

  std::filesystem::path folder_;
  std::string address_;
  std::unique_ptr<Program> dispatcher_;
  std::vector<std::unique_ptr<Program>> workers_;
};

TEST_F(ServiceTest, RunsAPipelineOnWorkers) {
  const std::unique_ptr<Program> run = Run(100);
  const std::string output = run->Rest();
  EXPECT_EQ(run->Wait(), 0) << output;
  EXPECT_THAT(output, HasSubstr("0, 2, 4, 6"));
  EXPECT_THAT(output, EndsWith("100 batches\n"));
}

TEST_F(ServiceTest, LosesNothingWhenAWorkerAndTheDispatcherAreKilled) {
  const std::unique_ptr<Program> run = Run(60'000);
  run->Line();  // It has begun.
  workers_[0]->End(SIGKILL);
  dispatcher_->End(SIGKILL);
  StartDispatcher(address_);
  AddWorker();
  workers_[1]->End(SIGKILL);
  const std::string output = run->Rest();
  EXPECT_EQ(run->Wait(), 0) << output;
  EXPECT_THAT(output, EndsWith("60000 batches\n"));
}

TEST_F(ServiceTest, EndsWhenItIsAskedTo) {
  EXPECT_EQ(workers_[0]->End(SIGTERM), 0);
  EXPECT_EQ(dispatcher_->End(SIGTERM), 0);
}

TEST_F(ServiceTest, SaysWhatIsWrong) {
  const std::string program = ProgramFolder() + "/millrace ";
  EXPECT_THAT(OutputOf(program + "worker --join nowhere 2>&1"),
              HasSubstr("an address is HOST:PORT"));
  EXPECT_THAT(OutputOf(program + "dispatcher --listen 0.0.0.0:0 2>&1"),
              HasSubstr("token"));
  EXPECT_THAT(OutputOf(base::StrCat(program, "dispatcher --listen 127.0.0.1:0 --state ",
                                    (folder_ / "state").string(), " 2>&1")),
              HasSubstr("state"))
      << "another has it";
  EXPECT_THAT(
      OutputOf(base::StrCat(program, "dispatcher --listen ", address_, " 2>&1")),
      HasSubstr(address_));
}

}  // namespace
}  // namespace millrace::cli
