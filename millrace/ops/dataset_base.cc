#include "millrace/ops/dataset_base.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expr.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/renumber.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"

namespace millrace::ops {
namespace {

const ir::Catalog& Catalog() { return DefaultLibrary().catalog(); }

// The rows that an operator's function is called on.
absl::StatusOr<core::Spec> RowsOf(const absl::StatusOr<ir::Pipeline>& input,
                                  std::string_view name,
                                  const ir::Arguments& arguments) {
  TRY(input.status());
  const ir::OperatorSchema* schema = TRY(Catalog().FindOperator(name));
  absl::StatusOr<core::Spec> rows = schema->function_input(arguments, input->spec());
  if (!rows.ok()) return base::Annotate(rows.status(), name);
  return rows;
}

// Adds the traced function to the arguments and makes the operator.
absl::StatusOr<ir::Pipeline> Apply(std::string_view name, ir::Arguments arguments,
                                   std::string_view argument,
                                   absl::StatusOr<ir::Expression> traced,
                                   const ir::Pipeline& input) {
  if (!traced.ok()) return base::Annotate(traced.status(), name);
  arguments.Set(argument, std::make_shared<const ir::Expression>(*std::move(traced)));
  return ir::Pipeline::Make(Catalog(), name, arguments, {input});
}

}  // namespace

absl::StatusOr<ir::Pipeline> DatasetBase::Start(std::string_view source,
                                                const ir::Arguments& arguments) {
  return ir::Pipeline::Make(Catalog(), source, arguments, {});
}

absl::StatusOr<ir::Pipeline> DatasetBase::Then(std::string_view name,
                                               const ir::Arguments& arguments) const {
  TRY(pipeline_.status());
  return ir::Pipeline::Make(Catalog(), name, arguments, {*pipeline_});
}

absl::StatusOr<ir::Pipeline> DatasetBase::ThenWith(
    std::string_view name, const ir::Arguments& arguments,
    const std::vector<DatasetBase>& others) const {
  TRY(pipeline_.status());
  std::vector<ir::Pipeline> inputs = {*pipeline_};
  for (const DatasetBase& other : others) {
    TRY(other.pipeline_.status());
    inputs.push_back(TRY(
        ir::Renumbered(*other.pipeline_, inputs.back().NextCallNumber(), Catalog())));
  }
  return ir::Pipeline::Make(Catalog(), name, arguments, std::move(inputs));
}

absl::StatusOr<ir::Pipeline> DatasetBase::Then(std::string_view name,
                                               ir::Arguments arguments,
                                               std::string_view argument,
                                               const ir::RowFunction& function) const {
  const core::Spec rows = TRY(RowsOf(pipeline_, name, arguments));
  return Apply(name, std::move(arguments), argument,
               ir::TraceRow(Catalog(), rows, pipeline_->NextCallNumber(), function),
               *pipeline_);
}

absl::StatusOr<ir::Pipeline> DatasetBase::Then(
    std::string_view name, ir::Arguments arguments, std::string_view argument,
    const ir::ValueFunction& function) const {
  const core::Spec rows = TRY(RowsOf(pipeline_, name, arguments));
  return Apply(name, std::move(arguments), argument,
               ir::TraceValue(Catalog(), rows, pipeline_->NextCallNumber(), function),
               *pipeline_);
}

}  // namespace millrace::ops
