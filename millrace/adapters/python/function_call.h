// What a Python function is called with and what comes of it, whoever calls it: a
// process of its own, or this one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/python_calls.h"
#include "millrace/core/block.h"
#include "millrace/ir/attachment.h"

namespace millrace::python {

// What a function is called with, besides rows.
struct FunctionCall {
  const ir::Attachment& function;
  std::string fields = {};  // Of what comes out; empty: whatever it is.
  uint64_t seed = 0;
  uint64_t epoch = 0;
  int64_t first_call = 0;
  absl::Duration timeout = absl::InfiniteDuration();
  // What a process may take, the first time, to start and to load the function.
  absl::Duration start_timeout = absl::Minutes(5);
  const std::atomic<bool>* cancelled = nullptr;  // Set when nobody wants the result.
  // Asked now and then while it is waited for; true where nobody wants the result.
  std::function<bool()> interrupt = nullptr;

  bool IsWanted() const {
    return (cancelled == nullptr || !cancelled->load()) && !(interrupt && interrupt());
  }
};

// Between two looks at whether a result is still wanted.
inline constexpr absl::Duration kWaitSlice = absl::Milliseconds(50);

// A generator at work, by a number of its own. It begins with the first call, and lets
// so many of its rows go by.
struct RowStream {
  int64_t number = 0;
  int64_t skip = 0;
};

// What came of it: the rows before the first that failed, and why that did.
struct FunctionResult {
  core::Block rows = {};
  absl::Status error = {};  // DataLoss, of the row behind these.
  std::string fields = {};
  int64_t draws = 0;
  bool ended = false;          // Of a generator: there are no more rows.
  std::string structure = {};  // As api::PythonAnswer has it.
};

// The requests, all but their bytes.
api::PythonCall MapMessage(const FunctionCall& call);
api::PythonCall GenerateMessage(const FunctionCall& call, const RowStream& stream);

// The result of an answer, all but its rows. `asked`: for so many rows, one for each;
// of a generator nothing.
absl::StatusOr<FunctionResult> ResultOf(const api::PythonAnswer& answer,
                                        std::optional<int64_t> asked);

}  // namespace millrace::python
