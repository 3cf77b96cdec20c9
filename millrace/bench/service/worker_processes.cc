#include "millrace/bench/service/worker_processes.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/service/child_process.h"
#include "millrace/bench/service/local_service.h"

namespace millrace::bench {
namespace {

// Is told where the dispatcher is, then works until it is killed.
void WorkInChild(Lines& lines) {
  const absl::StatusOr<std::string> port = lines.Hear();
  int number = 0;
  if (!port.ok() || !absl::SimpleAtoi(*port, &number)) return;
  const auto worker = StartWorker({"127.0.0.1", number}, {});
  if (!lines.Tell(worker.ok() ? "ready" : worker.status().ToString()).ok()) return;
  while (absl::IsDeadlineExceeded(lines.Hear().status())) {
  }
}

}  // namespace

absl::StatusOr<WorkerProcesses> StartWorkerProcesses(int workers) {
  WorkerProcesses processes;
  for (int i = 0; i < workers; ++i) {
    processes.push_back(TRY(ChildProcess::Start(WorkInChild)));
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
