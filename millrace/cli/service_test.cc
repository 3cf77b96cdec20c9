// The service as people start it: real processes, some of which are killed.

#include "millrace/api/service.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/json.h"
#include "millrace/api/operations.h"
#include "millrace/base/sanitized.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/cli/notify_socket_test.h"
#include "millrace/cli/program_test.h"
#include "millrace/cli/variable_test.h"

namespace millrace::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A job that goes on while processes are killed.
constexpr int64_t kBatches = base::kSanitized ? 10'000 : 60'000;
const char* const kAllBatches =
    base::kSanitized ? "10000 batches\n" : "60000 batches\n";

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

  void AddWorker(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"worker", "--join", address_, "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    workers_.push_back(std::make_unique<Program>(words));
    workers_.back()->Address();
  }

  // A job of so many batches of four rows; a few of them are shown.
  std::unique_ptr<Program> Run(int64_t batches,
                               const std::string& sharding = "dynamic") {
    const std::string file = folder_ / "pipeline.txt";
    std::ofstream(file) << "millrace 1\n%0 = range(start=0, stop=" << batches * 4
                        << ")\n%1 = map(%0, function={x: .value * 2})\n"
                        << "%2 = batch(%1, size=4)\n";
    return std::make_unique<Program>(
        std::vector<std::string>{"run", file, "--service", address_, "--job", "job",
                                 "--show", "1", "--sharding", sharding});
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
  const std::unique_ptr<Program> run = Run(kBatches);
  run->Line();  // It has begun.
  workers_[0]->End(SIGKILL);
  dispatcher_->End(SIGKILL);
  StartDispatcher(address_);
  AddWorker();
  workers_[1]->End(SIGKILL);
  const std::string output = run->Rest();
  EXPECT_EQ(run->Wait(), 0) << output;
  EXPECT_THAT(output, EndsWith(kAllBatches));
}

TEST_F(ServiceTest, AWorkerThatIsToldToEndHandsItsWorkOverFirst) {
  const std::unique_ptr<Program> run = Run(kBatches);
  run->Line();  // It has begun.
  EXPECT_EQ(workers_[0]->End(SIGTERM), 0);
  AddWorker();
  EXPECT_EQ(workers_[1]->End(SIGINT), 0);
  const std::string output = run->Rest();
  EXPECT_EQ(run->Wait(), 0) << output;
  EXPECT_THAT(output, EndsWith(kAllBatches));
}

// Its connections stay open; only its heartbeat is missing.
TEST_F(ServiceTest, AWorkerThatStandsStillLosesItsWorkToOthers) {
  const std::unique_ptr<Program> run = Run(kBatches);
  run->Line();
  workers_[0]->Signal(SIGSTOP);
  const std::string output = run->Rest();
  EXPECT_EQ(run->Wait(), 0) << output;
  EXPECT_THAT(output, EndsWith(kAllBatches));
}

TEST_F(ServiceTest, TheLastWorkerServesOnWhileItIsNeeded) {
  ASSERT_EQ(workers_[1]->End(SIGTERM), 0);
  const std::unique_ptr<Program> run = Run(kBatches);
  run->Line();
  workers_[0]->Signal(SIGTERM);
  const std::string output = run->Rest();
  EXPECT_EQ(run->Wait(), 0) << output;
  EXPECT_THAT(output, EndsWith(kAllBatches));
  EXPECT_EQ(workers_[0]->Wait(), 0);
}

// The job has more than they could ever do.
TEST_F(ServiceTest, ASecondSignalOrTheLimitEndsAWorkerAtOnce) {
  ASSERT_EQ(workers_[1]->End(SIGTERM), 0);
  const std::unique_ptr<Program> run = Run(200'000);
  run->Line();
  workers_[0]->Signal(SIGTERM);
  EXPECT_EQ(workers_[0]->End(SIGINT), 0);
  AddWorker({"--drain-seconds", "0"});
  EXPECT_EQ(workers_[2]->End(SIGTERM), 0);
}

// Those without an index do nothing.
TEST_F(ServiceTest, WithStaticShardingEachWorkerRunsItsOwnLanes) {
  const std::unique_ptr<Program> run = Run(1000, "static");
  AddWorker({"--index", "0", "--of", "2"});
  AddWorker({"--index", "1", "--of", "2"});
  const std::string output = run->Rest();
  EXPECT_EQ(run->Wait(), 0) << output;
  EXPECT_THAT(output, EndsWith("1000 batches\n"));
}

TEST_F(ServiceTest, EndsWhenItIsAskedTo) {
  EXPECT_EQ(workers_[0]->End(SIGTERM), 0);
  EXPECT_EQ(dispatcher_->End(SIGTERM), 0);
}

TEST_F(ServiceTest, IsShownByItsVerbs) {
  const std::unique_ptr<Program> run = Run(kBatches);
  run->Line();  // It has begun.
  const std::string program = ProgramFolder() + "/millrace ";
  const std::string at = " --dispatcher " + address_ + " 2>&1";
  EXPECT_THAT(OutputOf(program + "jobs" + at),
              AllOf(StartsWith("name"), HasSubstr("\njob "), HasSubstr(" fixed ")));
  EXPECT_THAT(OutputOf(program + "workers" + at),
              AllOf(StartsWith("address"), HasSubstr("\n127.0.0.1:")));
  const absl::StatusOr<api::JobList> jobs =
      api::FromJson<api::JobList>(OutputOf(program + "jobs --json" + at));
  ASSERT_THAT(jobs, base::IsOk());
  ASSERT_EQ(jobs->jobs.size(), 1);
  EXPECT_EQ(jobs->jobs[0].name, "job");
  const absl::StatusOr<api::WorkerList> workers =
      api::FromJson<api::WorkerList>(OutputOf(program + "workers --json" + at));
  ASSERT_THAT(workers, base::IsOk());
  EXPECT_EQ(workers->workers.size(), 2);
  EXPECT_THAT(OutputOf(program + "top --once" + at),
              AllOf(StartsWith("Millrace at " + address_), HasSubstr("\nJOBS\n"),
                    HasSubstr("\nWORKERS\n"), HasSubstr("worker joined")));
  run->End(SIGKILL);
}

TEST_F(ServiceTest, IsWatchedLineByLineWhereThereIsNoTerminal) {
  Program top({"top", "--dispatcher", "millrace://" + address_});
  EXPECT_THAT(top.Line(), HasSubstr(" worker joined 127.0.0.1:"));
  EXPECT_THAT(top.Line(), HasSubstr(" worker joined 127.0.0.1:"));
  EXPECT_THAT(top.Line(), HasSubstr(" Millrace at " + address_));
  EXPECT_EQ(top.End(SIGINT), 0);
}

TEST_F(ServiceTest, ItsPlaceMayComeFromTheEnvironmentOrAFile) {
  const std::string program = ProgramFolder() + "/millrace workers 2>&1";
  EXPECT_THAT(OutputOf("MILLRACE_DISPATCHER=" + address_ + " " + program),
              StartsWith("address"));
  const std::string file = folder_ / "settings.toml";
  std::ofstream(file) << "[workers]\ndispatcher = \"" << address_ << "\"\n";
  EXPECT_THAT(OutputOf("MILLRACE_CONFIG=" + file + " " + program),
              StartsWith("address"));
  std::ofstream(file) << "dispatcher = \"" << address_ << "\"\ncolour = \"red\"\n";
  EXPECT_THAT(OutputOf(program + " --config " + file),
              AllOf(HasSubstr(file), HasSubstr("no key colour"), EndsWith("code 2")));
  EXPECT_THAT(OutputOf(program + " --dispatcher 127.0.0.1:1"),
              AllOf(HasSubstr("no dispatcher answers at 127.0.0.1:1"),
                    EndsWith("exit code 1")));
}

TEST_F(ServiceTest, TellsItsServiceManagerHowItIs) {
  for (const bool is_worker : {false, true}) {
    NotifySocket socket(folder_ / (is_worker ? "worker" : "dispatcher"));
    const Variable name("NOTIFY_SOCKET", socket.path());
    const Variable watchdog("WATCHDOG_USEC", "1000000");
    Program server(
        is_worker ? std::vector<std::string>{"worker", "--join", address_}
                  : std::vector<std::string>{"dispatcher", "--listen", "127.0.0.1:0"});
    const std::string address = server.Address();
    EXPECT_EQ(socket.Receive(), "READY=1\nSTATUS=listens on " + address);
    EXPECT_EQ(socket.Receive(), "WATCHDOG=1");
    EXPECT_EQ(socket.Receive(), "WATCHDOG=1");
    kill(server.process(), SIGTERM);
    std::string last = socket.Receive();
    while (last == "WATCHDOG=1") last = socket.Receive();
    EXPECT_EQ(last, "STOPPING=1\nSTATUS=ending");
    EXPECT_EQ(server.Wait(), 0);
  }
}

TEST_F(ServiceTest, LogsAsItIsTold) {
  Program dispatcher({"dispatcher", "--listen", "127.0.0.1:0", "--log-format", "json",
                      "--state", folder_ / "other"},
                     Program::Errors::kAmongOutput);
  const std::string address = dispatcher.Address();
  Program worker({"worker", "--join", address});
  EXPECT_THAT(dispatcher.Line(),
              AllOf(StartsWith("{\"time\":"), HasSubstr("\"worker joined\"")));
}

TEST_F(ServiceTest, WhoWaitsForAnAnswerHasOneWhenTheDispatcherEnds) {
  const std::unique_ptr<http::Client> client = http::Client::Make({}).value();
  api::OpenJob open;
  open.settings.name = "never";
  open.settings.pipeline = "text";
  open.settings.consumers = 2;
  open.settings.remainder = "drop";
  open.opening = 1;
  open.wait_ms = 30'000;
  auto waiting = std::async(std::launch::async, [&] {
    return client->CallAndWait({.address = http::ReadAddress(address_).value(),
                                .path = "/v1/jobs/open",
                                .body = api::ToJson(open),
                                .attempts_max = 1});
  });
  const std::string jobs =
      base::StrCat(ProgramFolder(), "/millrace jobs --dispatcher ", address_);
  ASSERT_TRUE(
      Eventually([&] { return OutputOf(jobs).find("never") != std::string::npos; }));
  EXPECT_EQ(dispatcher_->End(SIGTERM), 0);
  EXPECT_THAT(waiting.get(),
              base::StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopping")));
}

TEST_F(ServiceTest, AWorkerReadsOnlyBeneathItsRoots) {
  const std::string secret = folder_ / "secret.txt";
  std::ofstream(secret) << "secret\n";
  const std::filesystem::path root = folder_ / "data";
  std::filesystem::create_directories(root);
  std::ofstream(root / "open.txt") << "row\n";
  std::filesystem::create_symlink(secret, root / "link.txt");
  for (std::unique_ptr<Program>& worker : workers_) worker->End(SIGTERM);
  Program worker({"worker", "--join", address_, "--read-root", root});
  worker.Address();
  const auto read = [&](const std::filesystem::path& path) {
    const std::string file = folder_ / "read.txt";
    std::ofstream(file) << "%0 = read_text(paths=[\"" << path.string()
                        << "\"])\n%1 = batch(%0, size=1)\n";
    return OutputOf(base::StrCat(ProgramFolder(), "/millrace run ", file, " --service ",
                                 address_, " 2>&1"));
  };
  EXPECT_THAT(read(root / "open.txt"), HasSubstr("1 batches"));
  for (const std::filesystem::path& path :
       {std::filesystem::path(secret), root / "link.txt", root / "../secret.txt"}) {
    EXPECT_THAT(read(path), AllOf(HasSubstr("read_text"), HasSubstr(path.string()),
                                  HasSubstr("--read-root")));
  }
}

TEST_F(ServiceTest, AWorkerThatOthersUseMustHaveRoots) {
  EXPECT_THAT(OutputOf(base::StrCat(ProgramFolder(),
                                    "/millrace worker --join 192.0.2.1:7171 2>&1")),
              HasSubstr("--read-root"));
}

TEST_F(ServiceTest, SaysWhatIsWrong) {
  const std::string program = ProgramFolder() + "/millrace ";
  EXPECT_THAT(OutputOf(program + "worker --join nowhere 2>&1"),
              HasSubstr("an address is HOST:PORT"));
  EXPECT_THAT(OutputOf(program + "worker --join 127.0.0.1:1 --index 2 --of 2 2>&1"),
              HasSubstr("there is no worker 2 of 2"));
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
