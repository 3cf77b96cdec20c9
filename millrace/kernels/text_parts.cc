// split and join: one text into several, and back.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/all_rows.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/split_rows.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::Shape;
using core::Tensor;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// --- split ---

absl::StatusOr<ValueType> InferSplit(const KernelTypes& types) {
  const ir::Value& separator = types.arguments["separator"];
  if (!separator.is_none() && separator.As<std::string>().empty()) {
    return absl::InvalidArgumentError(
        "argument separator must not be empty; none is white space");
  }
  return InferParts(types);
}

void SplitAtSpaces(std::string_view text, std::vector<std::string_view>& parts) {
  constexpr std::string_view kSpaces = " \t\n\r\v\f";
  size_t begin = text.find_first_not_of(kSpaces);
  while (begin != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpaces, end);
  }
}

void SplitAt(std::string_view separator, std::string_view text,
             std::vector<std::string_view>& parts) {
  for (size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
}

absl::StatusOr<Column> RunSplit(const KernelCall& call) {
  const ir::Value& separator = call.arguments["separator"];
  if (separator.is_none()) return SplitRows(call, SplitAtSpaces);
  const std::string_view by = separator.As<std::string>();
  return SplitRows(call,
                   [&](std::string_view text, std::vector<std::string_view>& parts) {
                     SplitAt(by, text, parts);
                   });
}

// --- join ---

absl::StatusOr<ValueType> InferJoin(const KernelTypes& types) {
  ValueType type = TRY(MeetTexts(types.operands));
  if (type.shape.is_scalar()) {
    return Needs("at least one axis", types.operands,
                 "text_join joins the texts of several fields");
  }
  if (!type.shape.ranked()) return type;
  Sizes sizes(type.shape.sizes().begin(), type.shape.sizes().end());
  sizes.pop_back();
  type.shape = Shape(sizes);
  return type;
}

absl::StatusOr<Tensor> JoinLast(const Tensor& x, int outer, std::string_view separator,
                                core::Pool& pool) {
  const Shape& shape = x.shape();
  if (shape.rank() == outer) {
    return absl::InvalidArgumentError(
        "needs at least one axis, not a value of shape []");
  }
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  const int64_t count = sizes.back();
  sizes.pop_back();
  const Shape result(sizes);
  ValueWriter out = TRY(ValueWriter::Open(x.dtype(), result.Count(), pool));
  for (int64_t group = 0; group < result.Count(); ++group) {
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) out.AddPart(separator);
      out.AddPart(x.TextAt(group * count + i));
    }
    out.EndText();
  }
  return std::move(out).ToTensor(result);
}

absl::StatusOr<Column> RunJoin(const KernelCall& call) {
  const std::string_view separator = call.arguments["separator"].As<std::string>();
  return ForAllRows(call, [&](const Tensor& x, int outer) {
    return JoinLast(x, outer, separator, call.pool);
  });
}

}  // namespace

KernelSchema SplitKernel() {
  return {.name = "split",
          .doc = "Splits a text into its parts, as Python does.",
          .operands = {{"x", "One text per row."}},
          .arguments = {{.name = "separator",
                         .type = ir::ArgumentType::kText,
                         .doc = "What stands between parts; none is white space, of "
                                "which any length is one separator and the ends are "
                                "none.",
                         .default_value = ir::Value(),
                         .none_allowed = true}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferSplit,
          .run = RunSplit};
}

KernelSchema JoinKernel() {
  return {.name = "join",
          .doc = "Joins the texts along the last axis to one, which goes away.",
          .operands = {{"x", "Texts with at least one axis."}},
          .arguments = {{.name = "separator",
                         .type = ir::ArgumentType::kText,
                         .doc = "What to put between them.",
                         .default_value = ""}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferJoin,
          .run = RunJoin};
}

}  // namespace millrace::kernels
