#include "millrace/adapters/python/runner.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/adapters/python/convert.h"
#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/function_call.h"
#include "millrace/adapters/python/hand_over.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/adapters/python/runner_pool.h"
#include "millrace/adapters/python/runner_process.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/core/tensor.h"
#include "millrace/frames/frame.h"

namespace millrace::python {
namespace {

// A value as it is, without a copy of its numbers.
absl::StatusOr<core::Tensor> Wrapped(const Plain& value) {
  const auto* const array = std::get_if<Array>(&value);
  if (array == nullptr) return ToTensor(value);
  const std::optional<core::DType> dtype = core::ParseDType(array->dtype);
  if (!dtype) return absl::InvalidArgumentError("not a type of numbers");
  const core::Shape shape(array->shape);
  const int64_t bytes = shape.Count() * core::SizeOf(*dtype);
  return core::Tensor::Fixed(*dtype, shape,
                             core::Buffer::Wrap(array->data, bytes, array->owner));
}

absl::StatusOr<core::Column> ColumnOf(const ResultColumn& column, int64_t rows) {
  if (column.stacked) {
    const core::Tensor all = TRY(Wrapped(column.values[0]));
    absl::Span<const int64_t> sizes = all.shape().sizes();
    core::Shape row(std::vector<int64_t>(sizes.begin() + 1, sizes.end()));
    return core::Column::Dense(all.dtype(), rows, row, all.values());
  }
  core::Tensors tensors;
  for (const Plain& value : column.values) tensors.push_back(TRY(Wrapped(value)));
  const core::DType dtype = tensors[0].dtype();
  return core::Column::OfTensors(dtype, std::move(tensors));
}

std::string FieldsOf(const core::Block& block) {
  std::vector<core::FieldSpec> fields;
  for (size_t i = 0; i < block.columns().size(); ++i) {
    const core::Column& column = block.columns()[i];
    const core::Tensor row = Checked(column.Row(0));
    const std::vector<int64_t> sizes(row.shape().rank(), core::kUnknownSize);
    fields.push_back({block.names()[i], column.dtype(), core::Shape(sizes)});
  }
  std::ostringstream text;
  text << core::Spec(std::move(fields));
  return text.str();
}

}  // namespace

void ConfigureRunners(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& environment,
                      const std::string& hello, int processes) {
  Runners().Configure(
      {.arguments = arguments, .environment = environment, .hello = hello}, processes);
}

std::vector<FieldType> ParseFields(const std::string& text) {
  return ToFields(Checked(core::ParseSpec(text)));
}

void AfterFork() { RunnerProcess::CloseAllAfterFork(); }

void ClearRunners() { Runners().Clear(); }

std::vector<int> RunnerPids() { return Runners().Pids(); }

Sample SampleFunction(const Engine& engine, const Pipeline& input,
                      const Attachment& function, const SamplePatience& patience) {
  const std::optional<core::Block> first = engine.FirstRow(input, patience.interrupt);
  if (!first) return {};
  const FunctionResult result =
      Checked(Runners().Call({.function = function.inner(),
                              .timeout = absl::Seconds(patience.seconds),
                              .interrupt = patience.interrupt},
                             *first, core::HeapPool()));
  Check(OfFunction(result.error));
  return {
      .fields = result.fields, .draws = result.draws, .structure = result.structure};
}

Sample SampleGenerator(const Attachment& function, const SamplePatience& patience) {
  const auto process = Checked(Runners().TakeApart());
  const FunctionResult result =
      Checked(process->Generate({.function = function.inner(),
                                 .timeout = absl::Seconds(patience.seconds),
                                 .interrupt = patience.interrupt},
                                {}));
  if (result.rows.rows() == 0) Check(result.error);
  return {.fields = result.fields, .draws = result.draws};
}

ReceivedRows ReadFrame(const void* data, int64_t bytes,
                       std::shared_ptr<const void> owner) {
  const core::Block block = Checked(frames::Decode(
      core::Buffer::Wrap(data, bytes, std::move(owner)), frames::Summed::kHead));
  ReceivedRows received = {.rows = Checked(View(block)), .names = block.names()};
  for (int64_t row = 0; block.has_ids() && row < block.rows(); ++row) {
    const core::RowId id = block.IdAt(row);
    received.ids.emplace_back(id.hi, id.lo);
  }
  return received;
}

struct ResultFrame::Inner {
  core::Block block;
  frames::Frame frame;
};

ResultFrame::ResultFrame(int64_t rows, const std::vector<ResultColumn>& columns) {
  core::FieldNames names;
  std::vector<core::Column> made;
  for (const ResultColumn& column : columns) {
    names.push_back(column.name);
    made.push_back(Checked(ColumnOf(column, rows)));
  }
  const core::Block block(rows, std::move(names), std::move(made));
  inner_ = std::make_unique<Inner>(
      block, Checked(frames::Encode(block, core::HeapPool(), frames::Summed::kHead)));
}

ResultFrame::~ResultFrame() = default;

int64_t ResultFrame::bytes() const { return inner_->frame.bytes(); }

void ResultFrame::CopyTo(void* data) const {
  inner_->frame.CopyTo(static_cast<std::byte*>(data));
}

std::string ResultFrame::Fields() const { return FieldsOf(inner_->block); }

}  // namespace millrace::python
