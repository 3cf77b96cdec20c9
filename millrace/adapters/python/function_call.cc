#include "millrace/adapters/python/function_call.h"

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/python_calls.h"
#include "millrace/base/sha256.h"

namespace millrace::python {

api::PythonCall MapMessage(const FunctionCall& call) {
  return {.kind = "map",
          .function = base::ToHex(call.function.hash()),
          .fields = call.fields,
          .seed = call.seed,
          .epoch = call.epoch,
          .first_call = call.first_call};
}

api::PythonCall GenerateMessage(const FunctionCall& call, const RowStream& stream) {
  api::PythonCall message = MapMessage(call);
  message.kind = "generate";
  message.stream = stream.number;
  message.skip = stream.skip;
  return message;
}

absl::StatusOr<FunctionResult> ResultOf(const api::PythonAnswer& answer,
                                        std::optional<int64_t> asked) {
  const bool failed = !answer.error.empty();
  const bool fits = asked ? answer.rows <= *asked && (answer.rows < *asked) == failed
                          : answer.rows > 0 || failed || answer.ended;
  if (answer.rows < 0 || !fits) {
    return absl::InternalError("a process for Python functions lost count of its rows");
  }
  return FunctionResult{
      .rows = {},
      .error = failed ? absl::DataLossError(answer.error) : absl::OkStatus(),
      .fields = answer.fields,
      .draws = answer.draws,
      .ended = answer.ended,
      .structure = answer.structure};
}

}  // namespace millrace::python
