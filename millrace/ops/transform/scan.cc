// Scan, reduce: a function that sees each row together with a state, and gives the next
// state: with every row, or only the last one. One row at a time, since each depends on
// the one before.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/kernels/row_error.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/transform/padding.h"

namespace millrace::ops {
namespace {

constexpr std::string_view kPrefix = "state.";

struct ScanArgs {
  std::string state;
  std::vector<double> initial;
  RowFunction function;
};

absl::StatusOr<core::Spec> StateSpec(const ir::Arguments& arguments) {
  const ir::Value* const text = arguments.Find("state");
  if (text == nullptr || text->If<std::string>() == nullptr) {
    return absl::InvalidArgumentError(
        "argument state must come before the function and name its fields, as in "
        "state=\"{sum: int64}\"");
  }
  core::Spec state = TRY(core::ParseSpec(text->As<std::string>()));
  for (const core::FieldSpec& field : state.fields()) {
    if (field.shape.ranked() && field.shape.IsKnown()) continue;
    return absl::InvalidArgumentError(base::StrCat("the state's field ", field.name,
                                                   " must have sizes that are known"));
  }
  if (!state.fields().empty()) return state;
  return absl::InvalidArgumentError("argument state names no field");
}

// The row, and the state as fields beside it.
absl::StatusOr<core::Spec> RowAndState(const ir::Arguments& arguments,
                                       const core::Spec& in) {
  std::vector<core::FieldSpec> fields = in.fields();
  const core::Spec state = TRY(StateSpec(arguments));
  for (core::FieldSpec field : state.fields()) {
    field.name = base::StrCat(kPrefix, field.name);
    if (in.Find(field.name) != nullptr) {
      return absl::InvalidArgumentError(
          base::StrCat("the row has a field ", field.name, " already; rename it"));
    }
    fields.push_back(std::move(field));
  }
  return core::Spec(std::move(fields));
}

absl::StatusOr<core::Column> FilledWith(const core::FieldSpec& field, double value,
                                        core::Pool& pool) {
  if (core::IsVariable(field.dtype)) {
    return core::Column::Repeat(core::Tensor::Text("", field.dtype), 1, pool);
  }
  return core::Column::Dense(field.dtype, 1, field.shape,
                             TRY(Filled(field.dtype, field.shape, value, pool)));
}

class Folding : public Operator {
 public:
  Folding(const ScanArgs& args, const LaneContext& lane)
      : args_(args), lane_(lane), state_spec_(*core::ParseSpec(args.state)) {}

 protected:
  // The fields of what the function gives, in order.
  using Row = std::vector<core::Column>;

  // Calls the function on a row and the state; the state moves on.
  absl::StatusOr<Row> Step(const core::Block& row) {
    if (state_.empty()) TRY(Begin());
    core::FieldNames names = row.names();
    Row columns = row.columns();
    for (size_t i = 0; i < state_.size(); ++i) {
      names.push_back(base::StrCat(kPrefix, state_spec_.fields()[i].name));
      columns.push_back(state_[i]);
    }
    core::Block both(1, std::move(names), std::move(columns));
    if (row.has_ids()) both = both.WithIds(*row.ids());
    Row given = TRY(kernels::Evaluate(*args_.function, both, {lane_.seed, lane_.epoch},
                                      lane_.pool));
    TRY(MoveOn(given));
    return given;
  }

  absl::Status Begin() {
    for (size_t i = 0; i < state_spec_.fields().size(); ++i) {
      const double value = args_.initial.empty() ? 0 : args_.initial[i];
      state_.push_back(TRY(FilledWith(state_spec_.fields()[i], value, lane_.pool)));
    }
    return absl::OkStatus();
  }

  const ScanArgs args_;
  const LaneContext lane_;
  const core::Spec state_spec_;
  Row state_;  // Empty before the first row.

 private:
  absl::Status MoveOn(const Row& given) {
    Row next = state_;
    for (size_t i = 0; i < next.size(); ++i) {
      const core::FieldSpec& field = state_spec_.fields()[i];
      const std::string name = base::StrCat(kPrefix, field.name);
      for (size_t result = 0; result < given.size(); ++result) {
        if (args_.function->results()[result].name != name) continue;
        core::FieldSpec named = field;
        named.name = name;
        TRY(core::CheckAdmits(named, given[result]));
        next[i] = given[result];
      }
    }
    state_ = std::move(next);
    return absl::OkStatus();
  }
};

// The results of the function that are not the state's.
core::Spec OutputOf(const ir::Expression& function) {
  std::vector<core::FieldSpec> fields;
  const core::Spec results = ResultSpec(function);
  for (const core::FieldSpec& field : results.fields()) {
    if (!field.name.starts_with(kPrefix)) fields.push_back(field);
  }
  return core::Spec(std::move(fields));
}

class Scan final : public Folding {
 public:
  Scan(const ScanArgs& args, const LaneContext& lane)
      : Folding(args, lane), names_(std::make_shared<const core::FieldNames>([&] {
          core::FieldNames names;
          const core::Spec given = OutputOf(*args.function);
          for (const core::FieldSpec& field : given.fields()) {
            names.push_back(field.name);
          }
          return names;
        }())) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    std::vector<core::Block> given;
    for (int64_t row = 0; row < block.rows(); ++row) {
      const core::Block one = block.Slice(row, 1);
      absl::StatusOr<Row> made = Step(one);
      if (made.ok()) {
        given.push_back(Output(one, *made));
        continue;
      }
      if (!kernels::IsOfRow(made.status())) return made.status();
      TRY(EmitAll(given, out));
      TRY(lane_.bad_rows.LeaveOut(BadRowOf(one, made.status())));
    }
    return EmitAll(given, out);
  }

 private:
  core::Block Output(const core::Block& row, const Row& given) const {
    Row columns;
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string& name = args_.function->results()[i].name;
      if (!name.starts_with(kPrefix)) columns.push_back(given[i]);
    }
    const core::Block block(1, names_, std::move(columns));
    return row.has_ids() ? block.WithIds(*row.ids()) : block;
  }

  absl::Status EmitAll(std::vector<core::Block>& given, Emitter& out) const {
    if (given.empty()) return absl::OkStatus();
    const std::vector<core::Block> blocks = std::exchange(given, {});
    return out.Emit(TRY(core::Concatenate(blocks, lane_.pool)));
  }

  const std::shared_ptr<const core::FieldNames> names_;
};

class Reduce final : public Folding {
 public:
  using Folding::Folding;

  absl::Status Push(core::Block block, Emitter& /*out*/) override {
    for (int64_t row = 0; row < block.rows(); ++row) {
      const core::Block one = block.Slice(row, 1);
      if (!ids_ && one.has_ids()) ids_ = one.ids();
      const absl::Status status = Step(one).status();
      if (status.ok()) continue;
      if (!kernels::IsOfRow(status)) return status;
      TRY(lane_.bad_rows.LeaveOut(BadRowOf(one, status)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Held> Finish(Emitter& out) override {
    if (state_.empty()) TRY(Begin());
    core::FieldNames names;
    for (const core::FieldSpec& field : state_spec_.fields())
      names.push_back(field.name);
    const core::Block block(1, std::move(names), state_);
    TRY(out.Emit(ids_ ? block.WithIds(*ids_) : block));
    return Held::kNothing;
  }

 private:
  std::optional<core::Column> ids_;  // Of the first row.
};

// Checks what the function gives as the next state.
absl::Status CheckResults(const ScanArgs& args, const core::Spec& state) {
  const core::Spec results = ResultSpec(*args.function);
  for (const core::FieldSpec& field : state.fields()) {
    const core::FieldSpec* const given =
        results.Find(base::StrCat(kPrefix, field.name));
    if (given == nullptr) continue;
    const bool fits = given->dtype == field.dtype && field.shape.Admits(given->shape);
    if (fits || (given->dtype == field.dtype && !given->shape.ranked())) continue;
    return absl::InvalidArgumentError(base::StrCat(
        "the function makes ", given->name, " another type than the state ", args.state,
        " says; use cast or reshape"));
  }
  for (const core::FieldSpec& field : results.fields()) {
    if (!field.name.starts_with(kPrefix)) continue;
    if (state.Find(field.name.substr(kPrefix.size())) != nullptr) continue;
    return absl::InvalidArgumentError(base::StrCat(
        "the function gives ", field.name, ", which is no field of ", args.state));
  }
  return absl::OkStatus();
}

absl::Status CheckState(const ScanArgs& args) {
  const core::Spec state = TRY(core::ParseSpec(args.state));
  if (!args.initial.empty() && args.initial.size() != state.fields().size()) {
    return absl::InvalidArgumentError(
        base::StrCat("argument initial has ", args.initial.size(), " numbers for ",
                     state.fields().size(), " fields of the state"));
  }
  for (size_t i = 0; i < args.initial.size(); ++i) {
    const core::FieldSpec& field = state.fields()[i];
    if (core::IsVariable(field.dtype) || CanHold(field.dtype, args.initial[i])) {
      continue;
    }
    return absl::InvalidArgumentError(
        base::StrCat("argument initial has ", args.initial[i], ", which field ",
                     field.name, " of ", core::Name(field.dtype), " cannot hold"));
  }
  return CheckResults(args, state);
}

absl::StatusOr<core::Spec> InferScan(const ScanArgs& args, const core::Spec&) {
  TRY(CheckState(args));
  core::Spec given = OutputOf(*args.function);
  if (!given.fields().empty()) return given;
  return absl::InvalidArgumentError(
      "the function gives nothing but the state; use reduce for the last one");
}

absl::StatusOr<core::Spec> InferReduce(const ScanArgs& args, const core::Spec&) {
  TRY(CheckState(args));
  if (OutputOf(*args.function).fields().empty()) return core::ParseSpec(args.state);
  return absl::InvalidArgumentError(
      base::StrCat("the function gives ", OutputOf(*args.function).Names(),
                   " besides the state; use scan for a row with each"));
}

// What both have in common.
template <typename Runs>
Definition<Runs, ScanArgs> DefineFolding(const std::string& name,
                                         const std::string& doc) {
  Definition<Runs, ScanArgs> definition(name);
  definition.Doc(doc)
      .Arg("state", &ScanArgs::state, "The fields of the state: \"{sum: int64}\".",
           Required())
      .Arg("initial", &ScanArgs::initial,
           "What its fields begin with, a number for each; by default 0. Texts are "
           "empty.")
      .Arg("function", &ScanArgs::function,
           "From the row, with the state in fields such as state.sum, to the next "
           "state, in fields of these names. What it does not give stays.")
      .FunctionInput(RowAndState)
      .Random([](const ScanArgs& args) { return args.function->IsRandom(); })
      .CanFail([](const ScanArgs& args) { return args.function->CanFail(); })
      .AcrossLanes([](const ScanArgs&) { return true; });
  return definition;
}

}  // namespace

OperatorDef ScanDef() {
  return DefineFolding<Scan>(
             "scan",
             "Replaces every row by what a function makes of it and of a state, which "
             "it hands on to the next row. One row at a time.")
      .Traits({.order_sensitive = true})
      .Infer(InferScan)
      .Count([](const ScanArgs&, const ir::Cardinality& in) { return in; });
}

OperatorDef ReduceDef() {
  return DefineFolding<Reduce>(
             "reduce",
             "Gives one row: the state that is left when a function has seen every row "
             "with the state before it.")
      .Traits({.order_sensitive = true, .changes_cardinality = true})
      .Infer(InferReduce)
      .Count([](const ScanArgs&, const ir::Cardinality& in) {
        return in.infinite() ? in : ir::Cardinality::Known(1);
      });
}

}  // namespace millrace::ops
