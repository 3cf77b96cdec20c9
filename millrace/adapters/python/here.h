// Calls Python functions in this process, in the thread that asks for rows, so that
// breakpoints work. Whoever takes rows from such a pass says so for its thread; all
// that calls Python functions there does it here, and in no other process.
//
//   const Here::Scope scope(&here);
//   iterator.Next();
#pragma once

#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/function_call.h"
#include "millrace/api/python_calls.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"

namespace millrace::python {

// Belongs to one thread at a time.
class Here {
 public:
  explicit Here(AnswerHere answer) : answer_(std::move(answer)) {}

  // The one of this thread, while a scope of it lasts; else null.
  static Here* Current();

  class Scope {
   public:
    explicit Scope(Here* here);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Here* const outer_;
  };

  // Calls a function on rows.
  absl::StatusOr<FunctionResult> Call(const FunctionCall& call,
                                      const core::Block& rows);

  // Asks a generator for more rows.
  absl::StatusOr<FunctionResult> Generate(const FunctionCall& call,
                                          const RowStream& stream);

 private:
  struct Answered {
    api::PythonAnswer answer = {};
    core::Block rows = {};
  };

  absl::Status Load(const FunctionCall& call);
  absl::StatusOr<Answered> Ask(const api::PythonCall& call, core::Buffer bytes) const;

  const AnswerHere answer_;
  std::set<std::string> loaded_;
};

}  // namespace millrace::python
