// Computes what depends on no row when the pipeline is rewritten, instead of once per
// block: `.value * (60 * 60)` becomes `.value * 3600`. The kernels' own code computes
// it, so that the bits are those of a run.
//
// Left as they are: random calls; calls that read files; what fails with these
// constants, so that the error comes when it runs, as before; what would change a type
// (a shape known only now), be too large to stand in the text, or be NaN, of which a
// literal keeps no sign. A plain number that a reader would refuse as a literal (300
// for uint8; computed it wraps) stays computed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/type.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {
namespace {

using ir::Term;
using ir::TermId;

// More values than this are not even computed: they could not stand in the text.
constexpr int64_t kValuesMax = 1024;

bool IsSmall(const ir::ValueType& type) {
  if (!type.shape.IsKnown()) return false;
  const absl::StatusOr<int64_t> count = type.shape.CountChecked();
  return count.ok() && *count <= kValuesMax;
}

bool HasNan(const core::Tensor& value) {
  if (!core::IsFloat(value.dtype())) return false;
  return core::VisitDType(value.dtype(), [&]<typename T>() {
    return std::ranges::any_of(value.As<T>(), [](const T& item) {
      if constexpr (std::is_arithmetic_v<T>) {
        return std::isnan(static_cast<double>(item));
      } else {  // The 16-bit floats.
        return std::isnan(static_cast<float>(item));
      }
    });
  });
}

int64_t CallsIn(const ir::Expression& function) {
  return std::ranges::count(function.terms(), Term::Kind::kCall, &Term::kind);
}

class Folding {
 public:
  Folding(const ir::Expression& function, ir::ExpressionBuilder& builder)
      : function_(function), builder_(builder) {}

  absl::StatusOr<ir::Expression> Run() {
    for (const Term& term : function_.terms()) placed_.push_back(TRY(Place(term)));
    for (const ir::Result& result : function_.results()) {
      const Placed& placed = placed_[static_cast<size_t>(result.term)];
      TRY(builder_.AddResult(result.name, placed.folded));
    }
    return builder_.Build();
  }

 private:
  struct Placed {
    TermId plain;   // As it was.
    TermId folded;  // With all folded that can be.
  };

  absl::StatusOr<Placed> Place(const Term& term) {
    if (term.kind == Term::Kind::kField) {
      const TermId field = TRY(builder_.Field(term.name));
      return Placed{field, field};
    }
    if (term.kind == Term::Kind::kLiteral) {
      const TermId literal = TRY(builder_.Literal(term.literal, term.type.weak));
      return Placed{literal, literal};
    }
    const TermId plain = TRY(Call(term, OperandsOf(term, &Placed::plain)));
    const std::vector<TermId> operands = OperandsOf(term, &Placed::folded);
    const std::optional<TermId> constant = Computed(term, operands);
    if (constant) return Placed{plain, *constant};
    const absl::StatusOr<TermId> folded = Call(term, operands);
    return Placed{plain, folded.ok() ? *folded : plain};
  }

  absl::StatusOr<TermId> Call(const Term& term, std::vector<TermId> operands) {
    return builder_.Call(term.name, std::move(operands), term.arguments,
                         term.call_number);
  }

  std::vector<TermId> OperandsOf(const Term& term, TermId Placed::* which) const {
    std::vector<TermId> operands;
    operands.reserve(term.operands.size());
    for (const TermId operand : term.operands) {
      operands.push_back(placed_[static_cast<size_t>(operand)].*which);
    }
    return operands;
  }

  bool IsConstant(const Term& call, const std::vector<TermId>& operands) const {
    const auto is_literal = [&](TermId operand) {
      return builder_.term(operand).kind == Term::Kind::kLiteral;
    };
    const bool pure = !call.kernel->random && !call.kernel->reads_files;
    return pure && std::ranges::all_of(operands, is_literal);
  }

  // The literal that a call gives; nothing when it must stay a call.
  std::optional<TermId> Computed(const Term& call,
                                 const std::vector<TermId>& operands) {
    if (!IsConstant(call, operands) || !IsSmall(call.type)) return std::nullopt;
    const absl::StatusOr<core::Tensor> value = RunOnce(call, operands);
    if (!value.ok() || !ir::FitsInText(*value) || HasNan(*value)) return std::nullopt;
    const absl::StatusOr<TermId> literal = builder_.Literal(*value, call.type.weak);
    return literal.ok() ? std::optional(*literal) : std::nullopt;
  }

  // What a run gives for the one row that stands for all.
  absl::StatusOr<core::Tensor> RunOnce(const Term& call,
                                       const std::vector<TermId>& operands) const {
    std::vector<ir::Operand> columns;
    std::vector<ir::ValueType> types;
    for (const TermId operand : operands) {
      const Term& term = builder_.term(operand);
      types.push_back(term.type);
      columns.push_back({.column = TRY(core::FromRows(term.type.dtype, {term.literal},
                                                      core::HeapPool())),
                         .constant = true});
    }
    const core::Column column = TRY(call.kernel->run({.rows = 1,
                                                      .operands = columns,
                                                      .operand_types = types,
                                                      .type = call.type,
                                                      .arguments = call.arguments,
                                                      .draws = nullptr,
                                                      .pool = core::HeapPool()}));
    return column.Row(0);
  }

  const ir::Expression& function_;
  ir::ExpressionBuilder& builder_;
  std::vector<Placed> placed_;
};

// The function with its constants folded; nothing when there are none to fold.
absl::StatusOr<std::optional<ir::Expression>> Folded(const ir::Expression& function,
                                                     const ir::Pipeline& node,
                                                     const ir::Catalog& catalog) {
  if (2 * function.terms().size() > ir::kTermsMax) return std::nullopt;
  const core::Spec rows = TRY(node.FunctionInput());
  ir::ExpressionBuilder builder(catalog, rows, node.NextCallNumber());
  ir::Expression folded = TRY(Folding(function, builder).Run());
  if (CallsIn(folded) == CallsIn(function)) return std::nullopt;
  return folded;
}

absl::StatusOr<Outcome> FoldConstants(const ir::Pipeline& pipeline,
                                      const ir::Catalog& catalog) {
  Outcome outcome = {pipeline, {}};
  const auto rebuild =
      [&](const ir::Pipeline& node,
          const std::vector<ir::Pipeline>& inputs) -> absl::StatusOr<ir::Pipeline> {
    ir::Pipeline rebuilt = TRY(WithInputs(node, inputs, catalog));
    const std::optional<FunctionArgument> argument = FunctionOf(rebuilt);
    if (!argument) return rebuilt;
    std::optional<ir::Expression> folded =
        TRY(Folded(*argument->function, rebuilt, catalog));
    if (!folded) return rebuilt;
    const int64_t fewer = CallsIn(*argument->function) - CallsIn(*folded);
    outcome.reasons.push_back(
        base::StrCat(rebuilt.name(), " makes ", fewer, fewer == 1 ? " call" : " calls",
                     " fewer: what depends on no row is computed now"));
    return WithFunction(rebuilt, *std::move(folded), catalog);
  };
  outcome.pipeline = TRY(RebuildAll(pipeline, rebuild));
  return outcome;
}

}  // namespace

Pass FoldConstantsPass() {
  return {"fold_constants", "Computes what depends on no row ahead of the run.",
          FoldConstants};
}

}  // namespace millrace::rewrite
