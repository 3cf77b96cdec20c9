// The processes that run Python functions, shared by all that call them: at most as
// many as there are threads. Started when needed, kept for the next call, replaced when
// they die. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/python/function_call.h"
#include "millrace/adapters/python/runner_process.h"
#include "millrace/base/mutex.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"

namespace millrace::python {

class RunnerPool {
 public:
  // How processes are started from now on, and how many there may be.
  void Configure(RunnerCommand command, int processes);

  // Calls a function on rows, in a process that is free; waits for one. A process that
  // dies or hangs is an error of the row it was at: the rows before it come out. One
  // that died before it began is replaced, and no row is the worse for it.
  absl::StatusOr<FunctionResult> Call(const FunctionCall& call, const core::Block& rows,
                                      core::Pool& pool);

  // Gives a process for a long time, besides those that there may be: whoever has it
  // waits for rows, and others must not wait for that. Given back, it is free.
  absl::StatusOr<std::unique_ptr<RunnerProcess>> TakeApart();
  void GiveBack(std::unique_ptr<RunnerProcess> process);

  // Ends all processes that are free.
  void Clear();

  // Of those that are free.
  std::vector<int> Pids() const;

 private:
  struct Attempt {
    absl::StatusOr<FunctionResult> result;
    int64_t failed_row = 0;
  };

  absl::StatusOr<Attempt> Try(const FunctionCall& call, const core::Block& rows,
                              core::Pool& pool);
  bool WaitForTurn();
  absl::StatusOr<std::unique_ptr<RunnerProcess>> Take(const FunctionCall& call);
  std::unique_ptr<RunnerProcess> TakeFree() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Return(std::unique_ptr<RunnerProcess> process);
  absl::StatusOr<FunctionResult> GoOnWithout(const FunctionCall& call,
                                             const core::Block& rows, core::Pool& pool,
                                             const absl::Status& error);

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  RunnerCommand command_ ABSL_GUARDED_BY(mutex_);
  int processes_max_ ABSL_GUARDED_BY(mutex_) = 1;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<RunnerProcess>> free_ ABSL_GUARDED_BY(mutex_);
};

// The pool of this process.
RunnerPool& Runners();

}  // namespace millrace::python
