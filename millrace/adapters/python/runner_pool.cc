#include "millrace/adapters/python/runner_pool.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/python/function_call.h"
#include "millrace/adapters/python/here.h"
#include "millrace/adapters/python/runner_process.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"

namespace millrace::python {
namespace {

// A process may be killed by anybody; one that always ends at once is the function's.
constexpr int kAttemptsMax = 3;

}  // namespace

void RunnerPool::Configure(RunnerCommand command, int processes) {
  const base::MutexLock lock(&mutex_);
  command_ = std::move(command);
  processes_max_ = command_.processes = std::max(1, processes);
}

// Waits a little for one to be free; tells whether the caller may take it.
bool RunnerPool::WaitForTurn() {
  const base::MutexLock lock(&mutex_);
  if (busy_ >= processes_max_) {
    changed_.WaitUntil(&mutex_, base::RealClock().Now() + kWaitSlice);
  }
  if (busy_ >= processes_max_) return false;
  ++busy_;
  return true;
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerPool::Take(
    const FunctionCall& call) {
  while (!WaitForTurn()) {
    if (!call.IsWanted()) return absl::CancelledError("nobody wants the rows any more");
  }
  absl::StatusOr<std::unique_ptr<RunnerProcess>> process = TakeApart();
  if (!process.ok()) Return(nullptr);
  return process;
}

std::unique_ptr<RunnerProcess> RunnerPool::TakeFree() {
  while (!free_.empty()) {
    std::unique_ptr<RunnerProcess> process = std::move(free_.back());
    free_.pop_back();
    if (process->IsThere()) return process;
  }
  return nullptr;
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

absl::StatusOr<RunnerPool::Attempt> RunnerPool::Try(const FunctionCall& call,
                                                    const core::Block& rows,
                                                    core::Pool& pool) {
  std::unique_ptr<RunnerProcess> process = TRY(Take(call));
  Attempt attempt = {.result = process->Call(call, rows, pool)};
  attempt.failed_row = process->failed_row();
  if (!attempt.result.ok()) process.reset();
  Return(std::move(process));
  return attempt;
}

absl::StatusOr<FunctionResult> RunnerPool::Call(const FunctionCall& call,
                                                const core::Block& rows,
                                                core::Pool& pool) {
  if (Here* const here = Here::Current()) return here->Call(call, rows);
  for (int attempts = 1;; ++attempts) {
    Attempt attempt = TRY(Try(call, rows, pool));
    const absl::Status& status = attempt.result.status();
    if (!absl::IsAborted(status)) return std::move(attempt.result);
    if (attempt.failed_row != RunnerProcess::kNoRow) {
      const int64_t done = std::min(attempt.failed_row, rows.rows() - 1);
      const absl::Status error = absl::DataLossError(status.message());
      return GoOnWithout(call, rows.Slice(0, done), pool, error);
    }
    if (attempts < kAttemptsMax) continue;
    return absl::FailedPreconditionError(
        base::StrCat(base::ToStd(status.message()), " before it began with a row, ",
                     attempts, " times; its own message is above, look also at init="));
  }
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
