// Select, drop, rename: which fields a row has, and what they are called. No value is
// touched.

#include <algorithm>
#include <cstdint>
#include <memory>
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
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

// A field that is kept, under its old and its new name.
struct Kept {
  std::string from;
  std::string to;
};

absl::Status CheckHas(const core::Spec& in, std::string_view field) {
  if (in.Find(field) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("there is no field ", field, "; there are ", in.Names()));
}

absl::StatusOr<core::Spec> SpecOf(const core::Spec& in, const std::vector<Kept>& kept) {
  std::vector<core::FieldSpec> fields;
  for (const Kept& field : kept) {
    TRY(CheckHas(in, field.from));
    TRY(core::CheckFieldName(field.to));
    fields.push_back(*in.Find(field.from));
    fields.back().name = field.to;
    const auto same = [&](const core::FieldSpec& other) {
      return other.name == field.to;
    };
    if (std::ranges::count_if(fields, same) > 1) {
      return absl::InvalidArgumentError(
          base::StrCat("two fields would be called ", field.to));
    }
  }
  return core::Spec(std::move(fields));
}

// Passes the kept fields on.
core::Block Keep(const core::Block& block, const std::vector<Kept>& kept) {
  core::FieldNames names;
  std::vector<core::Column> columns;
  for (const Kept& field : kept) {
    names.push_back(field.to);
    columns.push_back(*block.Find(field.from));
  }
  core::Block result(block.rows(), std::move(names), std::move(columns));
  return block.has_ids() ? result.WithIds(*block.ids()) : result;
}

struct FieldsArgs {
  std::vector<std::string> fields;
};

std::vector<Kept> Selected(const FieldsArgs& args) {
  std::vector<Kept> kept;
  for (const std::string& field : args.fields) kept.push_back({field, field});
  return kept;
}

std::vector<Kept> NotDropped(const FieldsArgs& args,
                             const std::vector<std::string>& names) {
  std::vector<Kept> kept;
  for (const std::string& name : names) {
    if (std::ranges::find(args.fields, name) == args.fields.end()) {
      kept.push_back({name, name});
    }
  }
  return kept;
}

std::vector<std::string> NamesOf(const core::Spec& spec) {
  std::vector<std::string> names;
  for (const core::FieldSpec& field : spec.fields()) names.push_back(field.name);
  return names;
}

class Select final : public Operator {
 public:
  Select(const FieldsArgs& args, const LaneContext& /*lane*/) : kept_(Selected(args)) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    return out.Emit(Keep(block, kept_));
  }

 private:
  const std::vector<Kept> kept_;
};

class Drop final : public Operator {
 public:
  Drop(FieldsArgs args, const LaneContext& /*lane*/) : args_(std::move(args)) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    return out.Emit(Keep(block, NotDropped(args_, block.names())));
  }

 private:
  const FieldsArgs args_;
};

struct RenameArgs {
  std::vector<std::string> from;
  std::vector<std::string> to;
};

std::vector<Kept> Renamed(const RenameArgs& args,
                          const std::vector<std::string>& names) {
  std::vector<Kept> kept;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(args.from, name);
    const bool renamed = found != args.from.end();
    kept.push_back({name, renamed ? args.to[found - args.from.begin()] : name});
  }
  return kept;
}

class Rename final : public Operator {
 public:
  Rename(RenameArgs args, const LaneContext& /*lane*/) : args_(std::move(args)) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    return out.Emit(Keep(block, Renamed(args_, block.names())));
  }

 private:
  const RenameArgs args_;
};

absl::StatusOr<core::Spec> InferRename(const RenameArgs& args, const core::Spec& in) {
  if (args.from.size() != args.to.size()) {
    return absl::InvalidArgumentError(
        base::StrCat("arguments from and to must be of one length, not ",
                     args.from.size(), " and ", args.to.size()));
  }
  for (const std::string& field : args.from) TRY(CheckHas(in, field));
  return SpecOf(in, Renamed(args, NamesOf(in)));
}

// As many rows come out as go in.
template <typename Args>
ir::Cardinality SameCount(const Args& /*args*/, const ir::Cardinality& in) {
  return in;
}

}  // namespace

OperatorDef SelectDef() {
  return Define<Select, FieldsArgs>("select")
      .Doc("Keeps these fields, in this order, and no others.")
      .Arg("fields", &FieldsArgs::fields, "Their names.", Required())
      .Traits({.row_wise = true})
      .Infer([](const FieldsArgs& args, const core::Spec& in) {
        return SpecOf(in, Selected(args));
      })
      .Count(SameCount<FieldsArgs>);
}

OperatorDef DropDef() {
  return Define<Drop, FieldsArgs>("drop")
      .Doc("Leaves these fields out.")
      .Arg("fields", &FieldsArgs::fields, "Their names.", Required())
      .Traits({.row_wise = true})
      .Infer([](const FieldsArgs& args,
                const core::Spec& in) -> absl::StatusOr<core::Spec> {
        for (const std::string& field : args.fields) TRY(CheckHas(in, field));
        return SpecOf(in, NotDropped(args, NamesOf(in)));
      })
      .Count(SameCount<FieldsArgs>);
}

OperatorDef RenameDef() {
  return Define<Rename, RenameArgs>("rename")
      .Doc("Calls fields by other names.")
      .Arg("from", &RenameArgs::from, "Their names.", Required())
      .Arg("to", &RenameArgs::to, "Their new names, in the same order.", Required())
      .Traits({.row_wise = true})
      .Infer(InferRename)
      .Count(SameCount<RenameArgs>);
}

}  // namespace millrace::ops
