#include "millrace/plugin/plugged_operator.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"
#include "millrace/plugin/c_values.h"
#include "millrace/plugin/given_rows.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {
namespace {

constexpr int64_t kRowsHeldMax = int64_t{1} << 32;

// Errors of the plug-in's own name it; others, such as of memory, stay what they are.
absl::Status Named(const absl::Status& status, const PluggedOperator& plugged) {
  if (!absl::IsFailedPrecondition(status)) return status;
  return base::Annotate(status, base::StrCat("plug-in ", plugged.file));
}

// Arguments and fields as a plug-in sees them. Requires: both outlive this.
class Types {
 public:
  Types(const ir::Arguments& arguments, const core::Spec& in)
      : arguments_(ValuesOf(arguments)),
        fields_(FieldsOf(in)),
        types_{.arguments = arguments_.data(),
               .fields = fields_.data(),
               .field_count = static_cast<int64_t>(fields_.size())} {}

  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;

  const MillraceOperatorTypes* get() const { return &types_; }

 private:
  const std::vector<MillraceArgumentValue> arguments_;
  const std::vector<MillraceField> fields_;
  const MillraceOperatorTypes types_;
};

int64_t RowsHeld(const MillraceOperator& functions, const ir::Arguments& arguments) {
  if (functions.rows_held == nullptr) return 0;
  return functions.rows_held(functions.context, ValuesOf(arguments).data());
}

// The fields that a plug-in adds, and what was wrong with one.
struct AddedFields {
  std::vector<core::FieldSpec> fields;
  absl::Status status;
};

absl::Status Add(const char* name, const MillraceType* type, AddedFields& added) {
  if (name == nullptr || type == nullptr) return Breach("adds a field without a name");
  TRY(core::CheckFieldName(name));
  const ir::ValueType value = TRY(FromC(*type));
  const auto has_name = [&](const core::FieldSpec& field) {
    return field.name == name;
  };
  if (std::ranges::any_of(added.fields, has_name)) {
    return Breach(base::StrCat("adds the field ", name, " twice"));
  }
  added.fields.push_back({name, value.dtype, value.shape});
  return absl::OkStatus();
}

absl::StatusOr<core::Spec> Infer(const MillraceOperator& functions,
                                 const ir::Arguments& arguments, const core::Spec& in) {
  AddedFields added;
  const MillraceSpec out = {
      .host = &added,
      .add = [](void* host, const char* name, const MillraceType* type) {
        auto& to = *static_cast<AddedFields*>(host);
        if (to.status.ok()) to.status = Add(name, type, to);
      }};
  const Types types(arguments, in);
  MillraceError error = {};
  if (functions.infer(functions.context, types.get(), &out, &error) != kMillraceOk) {
    return absl::InvalidArgumentError(TextOf(error));
  }
  TRY(added.status);
  const int64_t held = RowsHeld(functions, arguments);
  if (held >= 0 && held <= kRowsHeldMax) return core::Spec(std::move(added.fields));
  return Breach(base::StrCat("holds ", held, " rows, not 0 to ", kRowsHeldMax));
}

// The rows of a call; views of a field are made when the plug-in asks for it.
class PushedRows {
 public:
  PushedRows(core::Block block, const core::Spec& spec)
      : block_(std::move(block)), spec_(spec), views_(spec.fields().size()) {}

  MillraceRows Callbacks(int64_t first) {
    return {.count = block_.rows(),
            .first = first,
            .host = this,
            .column = [](void* host, int64_t field) -> const MillraceValue* {
              auto& rows = *static_cast<PushedRows*>(host);
              if (rows.status_.ok()) rows.status_ = rows.View(field);
              return rows.status_.ok() ? rows.views_[field]->values() : nullptr;
            }};
  }

  const absl::Status& status() const { return status_; }

 private:
  absl::Status View(int64_t field) {
    if (field < 0 || field >= std::ssize(views_)) {
      return Breach(base::StrCat("asks for field ", field, " of ", views_.size()));
    }
    std::optional<RowViews>& view = views_[field];
    if (view) return absl::OkStatus();
    const std::string& name = spec_.fields()[field].name;
    absl::StatusOr<RowViews> made = RowViews::Of(*block_.Find(name), block_.rows());
    if (!made.ok()) return base::Annotate(made.status(), base::StrCat("field ", name));
    view = *std::move(made);
    return absl::OkStatus();
  }

  const core::Block block_;
  const core::Spec& spec_;
  std::vector<std::optional<RowViews>> views_;
  absl::Status status_;
};

class Runs final : public ops::Operator {
 public:
  Runs(const PluggedOperator& plugged, const ir::Arguments& arguments,
       const ops::LaneContext& lane)
      : plugged_(plugged), lane_(lane), input_(*lane.input) {
    const MillraceOperator& functions = plugged_.functions;
    status_ = Promise(arguments);
    if (!status_.ok()) return;
    given_.emplace(promises_, lane_);
    if (functions.make == nullptr) return;
    const Types types(arguments, input_);
    MillraceError error = {};
    made_ =
        functions.make(functions.context, types.get(), &state_, &error) == kMillraceOk;
    if (!made_) status_ = absl::FailedPreconditionError(TextOf(error));
  }

  ~Runs() override {
    if (made_ && plugged_.functions.destroy != nullptr) {
      plugged_.functions.destroy(state_);
    }
  }

  absl::Status Push(core::Block block, ops::Emitter& out) override {
    if (block.rows() == 0) return absl::OkStatus();
    if (!status_.ok()) return Named(status_, plugged_);
    // One that is row-wise takes rows of any lane: what went wrong with some is nothing
    // to the next.
    if (row_wise()) given_.emplace(promises_, lane_);
    const absl::Status status = PushRows(std::move(block), out);
    if (!row_wise()) status_ = status;
    return Named(status, plugged_);
  }

  absl::StatusOr<ops::Held> Finish(ops::Emitter& out) override {
    if (status_.ok() && !row_wise()) status_ = FinishLane(out);
    TRY(Named(status_, plugged_));
    return ops::Held::kNothing;
  }

 private:
  bool row_wise() const { return promises_.has(kMillraceRowWise); }

  // Asks again for what was promised when the pipeline was made.
  absl::Status Promise(const ir::Arguments& arguments) {
    promises_.traits = plugged_.functions.traits;
    promises_.spec = TRY(Infer(plugged_.functions, arguments, input_));
    if (!row_wise()) promises_.rows_held = RowsHeld(plugged_.functions, arguments);
    return absl::OkStatus();
  }

  absl::Status PushRows(core::Block block, ops::Emitter& out) {
    PushedRows pushed(block, input_);
    given_->BeginPush(std::move(block), out);
    const MillraceRows rows = pushed.Callbacks(given_->first());
    const MillraceEmitter emitter = given_->Callbacks();
    MillraceError error = {};
    const int32_t code = plugged_.functions.push(state_, &rows, &emitter, &error);
    TRY(pushed.status());
    return EndCall(code, error);
  }

  absl::Status FinishLane(ops::Emitter& out) {
    if (plugged_.functions.finish != nullptr) {
      given_->BeginFinish(out);
      const MillraceEmitter emitter = given_->Callbacks();
      MillraceError error = {};
      const int32_t code = plugged_.functions.finish(state_, &emitter, &error);
      TRY(EndCall(code, error));
    }
    return given_->CheckCount();
  }

  // Our own reason to stop comes before what the plug-in made of it.
  absl::Status EndCall(int32_t code, const MillraceError& error) {
    TRY(given_->status());
    if (code == kMillraceOk) return given_->End();
    return absl::FailedPreconditionError(TextOf(error));
  }

  const PluggedOperator& plugged_;
  const ops::LaneContext lane_;
  const core::Spec input_;
  Promises promises_;
  std::optional<GivenRows> given_;
  absl::Status status_;
  void* state_ = nullptr;
  bool made_ = false;
};

ir::OperatorTraits TraitsOf(int32_t traits) {
  const bool row_wise = (traits & kMillraceRowWise) != 0;
  return {
      .row_wise = row_wise,
      .order_sensitive = !row_wise,
      .changes_cardinality = (traits & (kMillraceFewerRows | kMillraceMoreRows)) != 0};
}

}  // namespace

ops::OperatorDef DefOf(const PluggedOperator& plugged) {
  const auto shared = std::make_shared<const PluggedOperator>(plugged);
  const MillraceOperator& functions = plugged.functions;
  ops::OperatorDef def;
  ir::OperatorSchema& schema = def.schema;
  schema.name = functions.name;
  schema.doc = functions.doc;
  schema.version = functions.version;
  schema.arguments = plugged.arguments;
  schema.traits = TraitsOf(functions.traits);
  schema.infer =
      [shared](const ir::OperatorTypes& types) -> absl::StatusOr<core::Spec> {
    absl::StatusOr<core::Spec> spec =
        Infer(shared->functions, types.arguments, types.inputs[0]);
    return spec.ok() ? spec : Named(spec.status(), *shared);
  };
  schema.cardinality = [changes = schema.traits.changes_cardinality](
                           const ir::Arguments&,
                           absl::Span<const ir::Cardinality> inputs) {
    const ir::Cardinality& in = inputs[0];
    const bool kept = !changes || in.infinite() || in == ir::Cardinality::Known(0);
    return kept ? in : ir::Cardinality::Unknown();
  };
  schema.rows_held = [shared](const ir::Arguments& arguments) {
    return RowsHeld(shared->functions, arguments);
  };
  schema.looks_across_lanes = [traits = functions.traits](const ir::Arguments&) {
    return (traits & kMillraceAcrossLanes) != 0;
  };
  schema.can_fail = [traits = functions.traits](const ir::Arguments&) {
    return (traits & kMillraceCanFail) != 0;
  };
  def.make = [shared](const ir::Arguments& arguments, const ops::LaneContext& lane) {
    return std::make_unique<Runs>(*shared, arguments, lane);
  };
  return def;
}

}  // namespace millrace::plugin
