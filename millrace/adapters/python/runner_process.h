// One process that runs Python functions: started by exec of the interpreter, spoken to
// over a socket, one call at a time. Rows go through shared memory. It ends when the
// socket closes, so it never outlives this one. Belongs to one thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/python/function_call.h"
#include "millrace/adapters/python/shared_region.h"
#include "millrace/api/python_calls.h"
#include "millrace/base/mutex.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/ir/attachment.h"

namespace millrace::python {

// How a process is started: what to execute, and its first message, with which it can
// find the user's modules. The socket is the descriptor kRunnerSocket.
struct RunnerCommand {
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};
  std::string hello = {};
  int processes = 1;  // That there may be, for those who ask.
};

inline constexpr int kRunnerSocket = 3;

class RunnerProcess {
 public:
  static absl::StatusOr<std::unique_ptr<RunnerProcess>> Start(
      const RunnerCommand& command);
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  // Calls a function on rows. An error that is no row's means that the process is of no
  // use any more; Aborted, that it died or hung in a row, whose number is in
  // failed_row, or died before it began with any.
  absl::StatusOr<FunctionResult> Call(const FunctionCall& call, const core::Block& rows,
                                      core::Pool& pool);

  // Asks a generator for more rows, waiting for them. An error that is no row's means
  // that the process is of no use any more; Aborted, that it died.
  absl::StatusOr<FunctionResult> Generate(const FunctionCall& call,
                                          const RowStream& stream);

  // The row in which the process ended, of the call that did not return; kNoRow where
  // that was before the first: no row is to blame.
  static constexpr int64_t kNoRow = -1;

  int64_t failed_row() const { return failed_row_; }

  // False once the process has ended, while nobody called it.
  bool IsThere() const;

  pid_t pid() const { return pid_; }

  // Closes the sockets of all processes, in a child that was forked: they are to end
  // with the parent, whatever the child does.
  static void CloseAllAfterFork();

 private:
  class Answered;
  struct Released;

  // The lowest number that no other process has, for as long as it lives.
  class Number {
   public:
    Number();
    ~Number();
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;

    int64_t value() const { return value_; }

   private:
    int64_t value_ = 0;
  };

  RunnerProcess(int socket, pid_t pid, int processes);

  // How long an answer may take, and to what.
  struct Patience {
    absl::Duration timeout;
    const FunctionCall& call;
  };

  absl::Status Load(const Patience& patience);
  absl::Status MakeRoom(int64_t bytes);
  void NoteNoRow();
  absl::Status WriteRows(const core::Block& rows, core::Pool& pool,
                         api::PythonCall& call);
  absl::Status Send(const std::string& message) const;
  absl::StatusOr<api::PythonAnswer> Ask(const api::PythonCall& call,
                                        const Patience& patience);
  absl::Status Wait(const Patience& patience);
  absl::StatusOr<std::string> Receive(int& descriptor);
  absl::StatusOr<core::Block> RowsOf(const api::PythonAnswer& answer);
  absl::Status TakeRows(const api::PythonAnswer& answer, FunctionResult& result);
  absl::Status End(const absl::Status& why);
  absl::Status Ended();

  const int socket_;
  const pid_t pid_;
  const Number number_;
  const int processes_;
  bool reaped_ = false;
  bool region_is_new_ = false;
  int64_t failed_row_ = kNoRow;
  std::shared_ptr<SharedRegion> input_;
  absl::flat_hash_set<std::string> loaded_;
  absl::flat_hash_map<int64_t, std::shared_ptr<SharedRegion>> answers_;
  std::shared_ptr<Released> released_;
};

}  // namespace millrace::python
