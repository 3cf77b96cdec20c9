#include "millrace/adapters/python/here.h"

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/function_call.h"
#include "millrace/api/json.h"
#include "millrace/api/python_calls.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/frames/frame.h"

namespace millrace::python {
namespace {

thread_local Here* current = nullptr;

absl::StatusOr<core::Buffer> Encoded(const core::Block& rows) {
  const frames::Frame frame =
      TRY(frames::Encode(rows, core::HeapPool(), frames::Summed::kHead));
  core::Buffer bytes = TRY(core::HeapPool().Allocate(frame.bytes()));
  frame.CopyTo(bytes.mutable_data());
  return bytes;
}

}  // namespace

Here* Here::Current() { return current; }

Here::Scope::Scope(Here* here) : outer_(std::exchange(current, here)) {}

Here::Scope::~Scope() { current = outer_; }

absl::StatusOr<Here::Answered> Here::Ask(const api::PythonCall& call,
                                         core::Buffer bytes) const {
  const auto owner = std::make_shared<core::Buffer>(std::move(bytes));
  HereAnswer given = answer_({.text = api::ToJson(call),
                              .data = owner->mutable_data(),
                              .bytes = owner->size(),
                              .owner = owner});
  if (given.raised) return absl::CancelledError("the Python function was interrupted");
  Answered answered = {.answer = TRY(api::FromJson<api::PythonAnswer>(given.text))};
  if (given.frame.empty()) return answered;
  const core::Buffer frame = TRY(
      core::CopyBytes(given.frame.data(), std::ssize(given.frame), core::HeapPool()));
  answered.rows = TRY(frames::Decode(frame, frames::Summed::kHead));
  return answered;
}

absl::Status Here::Load(const FunctionCall& call) {
  const std::string hash = base::ToHex(call.function.hash());
  if (loaded_.contains(hash)) return absl::OkStatus();
  const std::string_view content = call.function.content();
  core::Buffer bytes =
      TRY(core::CopyBytes(content.data(), std::ssize(content), core::HeapPool()));
  const Answered answered = TRY(Ask({.kind = "load",
                                     .function = hash,
                                     .bytes = std::ssize(content),
                                     .seed = call.seed},
                                    std::move(bytes)));
  if (!answered.answer.error.empty()) {
    return absl::FailedPreconditionError(answered.answer.error);
  }
  loaded_.insert(hash);
  return absl::OkStatus();
}

absl::StatusOr<FunctionResult> Here::Call(const FunctionCall& call,
                                          const core::Block& rows) {
  TRY(Load(call));
  core::Buffer bytes = TRY(Encoded(rows));
  api::PythonCall message = MapMessage(call);
  message.bytes = bytes.size();
  Answered answered = TRY(Ask(message, std::move(bytes)));
  FunctionResult result = TRY(ResultOf(answered.answer, rows.rows()));
  result.rows = std::move(answered.rows);
  return result;
}

absl::StatusOr<FunctionResult> Here::Generate(const FunctionCall& call,
                                              const RowStream& stream) {
  TRY(Load(call));
  Answered answered = TRY(Ask(GenerateMessage(call, stream), {}));
  FunctionResult result = TRY(ResultOf(answered.answer, {}));
  result.rows = std::move(answered.rows);
  return result;
}

}  // namespace millrace::python
