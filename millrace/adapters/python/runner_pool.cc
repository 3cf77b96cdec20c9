#include "millrace/adapters/python/runner_pool.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/python/function_call.h"
#include "millrace/adapters/python/here.h"
#include "millrace/adapters/python/runner_process.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"

namespace millrace::python {

void RunnerPool::Configure(RunnerCommand command, int processes) {
  const base::MutexLock lock(&mutex_);
  command_ = std::move(command);
  processes_max_ = command_.processes = std::max(1, processes);
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerPool::Take() {
  RunnerCommand command;
  {
    const base::MutexLock lock(&mutex_);
    while (busy_ >= processes_max_) {
      changed_.WaitUntil(&mutex_, absl::InfiniteFuture());
    }
    ++busy_;
    if (auto process = TakeFree()) return process;
    command = command_;
  }
  auto process = RunnerProcess::Start(command);
  if (!process.ok()) Return(nullptr);
  return process;
}

std::unique_ptr<RunnerProcess> RunnerPool::TakeFree() {
  if (free_.empty()) return nullptr;
  std::unique_ptr<RunnerProcess> process = std::move(free_.back());
  free_.pop_back();
  return process;
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerPool::TakeApart() {
  RunnerCommand command;
  {
    const base::MutexLock lock(&mutex_);
    if (auto process = TakeFree()) return process;
    command = command_;
  }
  return RunnerProcess::Start(command);
}

void RunnerPool::GiveBack(std::unique_ptr<RunnerProcess> process) {
  const base::MutexLock lock(&mutex_);
  free_.push_back(std::move(process));
}

void RunnerPool::Return(std::unique_ptr<RunnerProcess> process) {
  const base::MutexLock lock(&mutex_);
  --busy_;
  if (process != nullptr) free_.push_back(std::move(process));
  changed_.NotifyOne();
}

absl::StatusOr<FunctionResult> RunnerPool::Call(const FunctionCall& call,
                                                const core::Block& rows,
                                                core::Pool& pool) {
  if (Here* const here = Here::Current()) return here->Call(call, rows);
  std::unique_ptr<RunnerProcess> process = TRY(Take());
  absl::StatusOr<FunctionResult> result = process->Call(call, rows, pool);
  const int64_t row = process->failed_row();
  if (!result.ok()) process.reset();
  Return(std::move(process));
  if (result.ok() || !absl::IsAborted(result.status())) return result;
  const int64_t done = std::clamp<int64_t>(row, 0, rows.rows() - 1);
  const absl::Status error = absl::DataLossError(result.status().message());
  return GoOnWithout(call, rows.Slice(0, done), pool, error);
}

// The rows before the one in which a process ended were lost with it: done once more.
absl::StatusOr<FunctionResult> RunnerPool::GoOnWithout(const FunctionCall& call,
                                                       const core::Block& rows,
                                                       core::Pool& pool,
                                                       const absl::Status& error) {
  if (rows.rows() == 0) return FunctionResult{.rows = {}, .error = error};
  FunctionResult before = TRY(Call(call, rows, pool));
  if (before.error.ok()) before.error = error;
  return before;
}

void RunnerPool::Clear() {
  std::vector<std::unique_ptr<RunnerProcess>> ended;
  const base::MutexLock lock(&mutex_);
  std::swap(ended, free_);
}

std::vector<int> RunnerPool::Pids() const {
  const base::MutexLock lock(&mutex_);
  std::vector<int> pids;
  pids.reserve(free_.size());
  for (const auto& process : free_) pids.push_back(process->pid());
  return pids;
}

RunnerPool& Runners() {
  // Never destroyed: at the end of the process the sockets close, and all of them end.
  static RunnerPool& pool = *new RunnerPool;
  return pool;
}

}  // namespace millrace::python
