#include "millrace/bench/service/worker_processes.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/service/child_process.h"
#include "millrace/bench/service/local_service.h"

namespace millrace::bench {
namespace {

constexpr absl::Duration kToldWithin = absl::Minutes(10);

}  // namespace

void WorkInChild(Lines& lines, const LocalServiceOptions& options) {
  const absl::StatusOr<std::string> port = lines.Hear(kToldWithin);
  int number = 0;
  if (!port.ok() || !absl::SimpleAtoi(*port, &number)) return;
  const auto worker = StartWorker({"127.0.0.1", number}, options);
  if (!lines.Tell(worker.ok() ? "ready" : worker.status().ToString()).ok()) return;
  while (absl::IsDeadlineExceeded(lines.Hear().status())) {
  }
}

absl::StatusOr<WorkerProcesses> StartWorkerProcesses(int workers) {
  WorkerProcesses processes;
  for (int i = 0; i < workers; ++i) {
    processes.push_back(
        TRY(ChildProcess::Start([](Lines& lines) { WorkInChild(lines, {}); })));
  }
  return processes;
}

absl::Status Join(const WorkerProcesses& workers, int port) {
  for (const auto& worker : workers) {
    TRY(worker->lines().Tell(base::StrCat(port)));
    const std::string answer = TRY(worker->lines().Hear());
    if (answer != "ready") return absl::UnavailableError(answer);
  }
  return absl::OkStatus();
}

}  // namespace millrace::bench
