// Workers that are processes of their own, so that they can be killed. Start them
// before there are threads.
//
//   WorkerProcesses workers = TRY(StartWorkerProcesses(4));
//   TRY(Join(workers, service->address().port));
//   workers.front()->Kill();
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/bench/service/child_process.h"
#include "millrace/bench/service/local_service.h"

namespace millrace::bench {

using WorkerProcesses = std::vector<std::unique_ptr<ChildProcess>>;

// In a child: is told where the dispatcher is, then works until it is killed.
void WorkInChild(Lines& lines, const LocalServiceOptions& options);

absl::StatusOr<WorkerProcesses> StartWorkerProcesses(int workers);

// Has all of them join the dispatcher at that port of this machine.
absl::Status Join(const WorkerProcesses& workers, int port);

}  // namespace millrace::bench
