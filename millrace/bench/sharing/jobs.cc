// Four jobs that share the decoding of JPEGs, beside one that has it alone: what the
// worker computes in all, and how fast the slowest of them reads. Worker and readers
// are processes of their own, on cores of their own where there are enough.

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/image_pipeline.h"
#include "millrace/bench/line.h"
#include "millrace/bench/sample_images.h"
#include "millrace/bench/service/child_process.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/service/worker_processes.h"
#include "millrace/bench/usage.h"
#include "millrace/bench/workload.h"
#include "millrace/client/consumer.h"
#include "millrace/exec/machine.h"

namespace millrace::bench {
namespace {

constexpr int kJobs = 4;
constexpr int64_t kImages = 2048;
constexpr int64_t kSeed = 7;

// Of each thread, as machines have them; and what lanes of batches of 38.5 MB take at
// least.
constexpr int64_t kThreadBytes = int64_t{512} << 20;
constexpr int64_t kWorkerBytes = int64_t{1} << 30;

constexpr absl::Duration kWithin = absl::Minutes(10);

// What a run of several jobs came to.
struct Outcome {
  double worker_seconds = 0;  // That its process computed, in all.
  double slowest = 0;         // Batches per second of the slowest job.
};

// What a reader reads.
struct Job {
  int number = 0;
  std::string pipeline;
  std::string share;
};

// Keeps this process, and all threads it will have, to these cores; to all of them
// where the machine has not enough.
void Pin(int first, int count) {
  if (first + count > exec::AvailableThreads()) return;
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof(all), &all) != 0) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  int place = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    if (place >= first && place < first + count) CPU_SET(cpu, &own);
    ++place;
  }
  sched_setaffinity(0, sizeof(own), &own);
}

void WorkOnCores(Lines& lines, int threads) {
  Pin(0, threads);
  WorkInChild(lines, {.worker_threads = threads,
                      .shares_memory = true,
                      .memory_bytes = std::max(threads * kThreadBytes, kWorkerBytes)});
}

absl::StatusOr<double> ReadAll(const http::Address& dispatcher, const Job& job,
                               Lines& lines) {
  Reading reading{.pipeline = job.pipeline};
  reading.settings.name = base::StrCat("job ", job.number);
  reading.settings.seed = kSeed;
  reading.settings.share = job.share;
  const std::unique_ptr<client::Consumer> consumer = TRY(OpenJob(dispatcher, reading));
  TRY(lines.Tell("open"));
  TRY(lines.Hear(kWithin));  // All are.
  TRY(consumer->Next());
  const absl::Duration begin = base::RealClock().Monotonic();
  int64_t taken = 0;
  while (TRY(consumer->Next()).has_value()) ++taken;
  return static_cast<double>(taken) /
         absl::ToDoubleSeconds(base::RealClock().Monotonic() - begin);
}

// A reader that is told where the dispatcher is, and tells its rate.
void ReadInChild(Lines& lines, const Job& job, int core) {
  Pin(core, 1);
  const absl::StatusOr<std::string> port = lines.Hear(kWithin);
  int number = 0;
  if (!port.ok() || !absl::SimpleAtoi(*port, &number)) return;
  const absl::StatusOr<double> rate = ReadAll({"127.0.0.1", number}, job, lines);
  lines.Tell(rate.ok() ? base::StrCat("rate ", *rate) : rate.status().ToString())
      .IgnoreError();
}

absl::StatusOr<double> RateOf(ChildProcess& reader) {
  const std::string answer = TRY(reader.lines().Hear(kWithin));
  const std::vector<std::string> words = absl::StrSplit(answer, ' ');
  double rate = 0;
  const bool told =
      words.size() == 2 && words[0] == "rate" && absl::SimpleAtod(words[1], &rate);
  if (told) return rate;
  return absl::UnavailableError(answer);
}

absl::StatusOr<Outcome> RunJobs(int jobs, const std::string& pipeline, int threads) {
  // Before there are threads.
  const std::unique_ptr<ChildProcess> worker =
      TRY(ChildProcess::Start([&](Lines& lines) { WorkOnCores(lines, threads); }));
  std::vector<std::unique_ptr<ChildProcess>> readers;
  for (int i = 0; i < jobs; ++i) {
    const Job job{i, pipeline, jobs > 1 ? "bench" : "off"};
    readers.push_back(TRY(ChildProcess::Start(
        [&](Lines& lines) { ReadInChild(lines, job, threads + i); })));
  }
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = 0}));
  const std::string port = base::StrCat(service->address().port);
  TRY(worker->lines().Tell(port));
  const std::string answer = TRY(worker->lines().Hear());
  if (answer != "ready") return absl::UnavailableError(answer);
  for (const auto& reader : readers) TRY(reader->lines().Tell(port));
  for (const auto& reader : readers) {
    const std::string opened = TRY(reader->lines().Hear(kWithin));
    if (opened != "open") return absl::UnavailableError(opened);
  }
  for (const auto& reader : readers) TRY(reader->lines().Tell("go"));
  std::vector<double> rates;
  rates.reserve(readers.size());
  for (const auto& reader : readers) rates.push_back(TRY(RateOf(*reader)));
  return Outcome{CpuSecondsOf(worker->process()), std::ranges::min(rates)};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunSharingJobs(const BenchOptions& options) {
  const SampleTars tars = TRY(MakeSampleTars(options.folder, kImages));
  const std::string pipeline = base::StrCat(
      "millrace 1\n",
      ImagePipeline({.pattern = tars.pattern, .repeats = options.quick ? 2 : 16}));
  // Readers need cores too.
  const int threads =
      std::max(1, std::min(options.threads, exec::AvailableThreads() - kJobs));
  std::vector<double> shared_seconds;
  std::vector<double> alone_seconds;
  std::vector<double> slowest;
  std::vector<double> alone;
  // Each comes first in turn: machines become slower, or faster, as they work on.
  for (int i = 0; i < 2 * options.repeats; ++i) {
    const bool shares = i % 4 == 1 || i % 4 == 2;
    const Outcome outcome = TRY(RunJobs(shares ? kJobs : 1, pipeline, threads));
    (shares ? shared_seconds : alone_seconds).push_back(outcome.worker_seconds);
    (shares ? slowest : alone).push_back(outcome.slowest);
  }
  const std::string name = base::StrCat(kJobs, " jobs share, worker of ", threads,
                                        threads == 1 ? " thread" : " threads");
  return std::vector<Line>{{.name = base::StrCat(name, ": its processor time"),
                            .unit = "seconds",
                            .ours = Median(std::move(shared_seconds)),
                            .limit = Median(std::move(alone_seconds)),
                            .limit_is = "one job alone",
                            .bar = 1.1,
                            .at_most = true},
                           {.name = base::StrCat(name, ": the slowest job"),
                            .unit = "batches/s of 256 images",
                            .ours = Median(std::move(slowest)),
                            .limit = Median(std::move(alone)),
                            .limit_is = "one job alone",
                            .bar = 0.95}};
}

}  // namespace millrace::bench
