#include "millrace/plugin/plugged_kernel.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/row_error.h"
#include "millrace/plugin/c_values.h"
#include "millrace/plugin/millrace_plugin.h"
#include "millrace/plugin/rows_writer.h"

namespace millrace::plugin {
namespace {

absl::StatusOr<ir::ValueType> Infer(const MillraceKernel& kernel,
                                    const ir::KernelTypes& types) {
  std::vector<MillraceType> operands;
  for (const ir::ValueType& type : types.operands) {
    operands.push_back(ToC(type.dtype, type.shape));
  }
  const std::vector<MillraceArgumentValue> arguments = ValuesOf(types.arguments);
  const MillraceKernelTypes given = {
      .operands = operands.data(),
      .operand_count = static_cast<int64_t>(operands.size()),
      .arguments = arguments.data()};
  MillraceType result = {};
  MillraceError error = {};
  if (kernel.infer(kernel.context, &given, &result, &error) == kMillraceOk) {
    return FromC(result);
  }
  return absl::InvalidArgumentError(TextOf(error));
}

// What the callback needs to know.
struct Host {
  RowsWriter writer;
  absl::Status status;
};

int32_t Allocate(void* host, MillraceRoom* room) {
  auto& to = *static_cast<Host*>(host);
  if (to.status.ok()) to.status = to.writer.Allocate(*room);
  return to.status.ok() ? kMillraceOk : kMillraceError;
}

// What it means that a kernel gave a code that is not kMillraceOk.
absl::Status StatusOf(int32_t code, const MillraceError& error, bool can_fail,
                      int64_t rows) {
  const std::string text = TextOf(error);
  if (code != kMillraceRowError) return absl::FailedPreconditionError(text);
  if (can_fail && error.row >= 0 && error.row < rows) {
    return kernels::RowError(error.row, text);
  }
  return Breach(base::StrCat("says that row ", error.row, " of ", rows, " is wrong",
                             can_fail ? "" : ", although it says that it cannot fail",
                             ": ", text));
}

absl::StatusOr<core::Column> Compute(const MillraceKernel& kernel,
                                     const ir::KernelCall& call) {
  std::vector<RowViews> views;
  std::vector<const MillraceValue*> operands;
  for (const ir::Operand& operand : call.operands) {
    views.push_back(TRY(RowViews::Of(operand.column, call.rows, operand.constant)));
    operands.push_back(views.back().values());
  }
  const std::vector<MillraceArgumentValue> arguments = ValuesOf(call.arguments);
  const MillraceType type = ToC(call.type.dtype, call.type.shape);
  Host host = {
      .writer = TRY(RowsWriter::Open(call.type, call.rows, call.pool, call.into)),
      .status = absl::OkStatus()};
  const MillraceKernelCall given = {
      .rows = call.rows,
      .operands = operands.data(),
      .operand_count = static_cast<int64_t>(operands.size()),
      .arguments = arguments.data(),
      .type = &type,
      .host = &host,
      .allocate = Allocate};
  MillraceError error = {};
  const int32_t code = kernel.compute(kernel.context, &given, &error);
  TRY(host.status);
  if (code == kMillraceOk) return std::move(host.writer).ToColumn();
  return StatusOf(code, error, kernel.can_fail != 0, call.rows);
}

// Errors about a row name the row; all others the plug-in.
template <typename T>
absl::StatusOr<T> Named(absl::StatusOr<T> result, std::string_view file) {
  if (!absl::IsFailedPrecondition(result.status())) return result;
  return base::Annotate(result.status(), base::StrCat("plug-in ", file));
}

}  // namespace

ir::KernelSchema SchemaOf(const PluggedKernel& kernel) {
  const MillraceKernel& functions = kernel.functions;
  return {.name = functions.name,
          .doc = functions.doc,
          .version = functions.version,
          .operands = kernel.operands,
          .variadic = functions.variadic != 0,
          .arguments = kernel.arguments,
          .fails = functions.can_fail != 0 ? ir::Fails::kOnData
                                           : ir::Fails::kOnUnknownShapes,
          .infer =
              [functions, file = kernel.file](const ir::KernelTypes& types) {
                return Named(Infer(functions, types), file);
              },
          .run =
              [functions, file = kernel.file](const ir::KernelCall& call) {
                return Named(Compute(functions, call), file);
              }};
}

}  // namespace millrace::plugin
