// A small catalog for this layer's own tests: the conventions of the real operators and
// kernels, which stand above and cannot be included here, with real typing rules and
// without code. Nothing is executed in `ir`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// Rows with a field of every kind, for tests of expressions.
inline core::Spec TestRow() {
  using core::DType;
  return core::Spec({{"a", DType::kInt64, {}},
                     {"b", DType::kInt64, {}},
                     {"x", DType::kFloat32, {}},
                     {"y", DType::kFloat64, {}},
                     {"h", DType::kFloat16, {}},
                     {"u", DType::kUint8, {}},
                     {"flag", DType::kBool, {}},
                     {"other", DType::kBool, {}},
                     {"name", DType::kString, {}},
                     {"raw", DType::kBytes, {}},
                     {"image", DType::kUint8, {core::kUnknownSize, 4, 3}},
                     {"odd name", DType::kInt64, {}},
                     {"path.to.it", DType::kInt64, {}},
                     {"any", DType::kFloat32, core::Shape::Unranked()}});
}

// --- Kernels ---

using TypeRule = absl::StatusOr<ValueType> (*)(const KernelTypes&);

inline absl::Status NotNumbers(const ValueType& type) {
  return absl::InvalidArgumentError(
      base::StrCat("needs numbers, not ", ToString(type)));
}

inline absl::StatusOr<ValueType> MeetAll(const KernelTypes& types) {
  ValueType met = types.operands[0];
  for (const ValueType& type : types.operands) met = TRY(Meet(met, type));
  return met;
}

inline absl::StatusOr<ValueType> InferNumbers(const KernelTypes& types) {
  ValueType met = TRY(MeetAll(types));
  if (!core::IsNumeric(met.dtype)) return NotNumbers(met);
  return met;
}

inline absl::StatusOr<ValueType> InferDivide(const KernelTypes& types) {
  ValueType met = TRY(InferNumbers(types));
  if (!core::IsFloat(met.dtype)) met.dtype = core::DType::kFloat64;
  return met;
}

inline absl::StatusOr<ValueType> InferComparison(const KernelTypes& types) {
  const ValueType met = TRY(MeetAll(types));
  return ValueType{core::DType::kBool, met.shape};
}

inline absl::StatusOr<ValueType> InferLogic(const KernelTypes& types) {
  ValueType met = TRY(MeetAll(types));
  if (met.dtype == core::DType::kBool) return met;
  return absl::InvalidArgumentError(base::StrCat("needs bools, not ", ToString(met)));
}

inline absl::StatusOr<ValueType> InferAt(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  if (!core::IsInteger(types.operands[1].dtype)) return NotNumbers(types.operands[1]);
  if (!x.shape.ranked()) return x;
  const int64_t axis = types.arguments["axis"].As<int64_t>();
  if (axis < 0 || axis >= x.shape.rank()) {
    return absl::InvalidArgumentError(
        base::StrCat("there is no axis ", axis, " in ", ToString(x)));
  }
  absl::InlinedVector<int64_t, 4> sizes(x.shape.sizes().begin(), x.shape.sizes().end());
  sizes.erase(sizes.begin() + axis);
  return ValueType{x.dtype, core::Shape(sizes)};
}

inline absl::StatusOr<ValueType> InferSlice(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  if (!x.shape.ranked()) return x;
  if (x.shape.is_scalar()) {
    return absl::InvalidArgumentError(base::StrCat("needs an axis: ", ToString(x)));
  }
  return ValueType{x.dtype, x.shape.WithoutLeading().WithLeading(core::kUnknownSize)};
}

inline absl::StatusOr<ValueType> InferCast(const KernelTypes& types) {
  const auto dtype = core::ParseDType(types.arguments["dtype"].As<std::string>());
  return ValueType{*dtype, types.operands[0].shape};
}

inline absl::StatusOr<ValueType> InferWhere(const KernelTypes& types) {
  return Meet(types.operands[1], types.operands[2]);
}

inline absl::StatusOr<ValueType> InferUniform(const KernelTypes& types) {
  TRY(InferNumbers(types));
  return ValueType{core::DType::kFloat64, {}};
}

inline absl::StatusOr<ValueType> InferWider(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  return ValueType{x.dtype, x.shape.WithLeading(1)};
}

inline absl::StatusOr<ValueType> InferSame(const KernelTypes& types) {
  return types.operands[0];
}

struct TestKernel {
  std::string name;
  int operands = 1;
  TypeRule infer = InferNumbers;
  bool promotes = false;
  bool random = false;
  bool variadic = false;
  Fails fails = Fails::kNever;
  std::vector<ArgumentSchema> arguments = {};
};

inline void AddKernel(Catalog& catalog, const TestKernel& kernel) {
  KernelSchema schema = {.name = kernel.name, .doc = "Of the test catalog."};
  for (int i = 0; i < kernel.operands; ++i) {
    schema.operands.push_back({base::StrCat("x", i), "An operand."});
  }
  schema.promotes = kernel.promotes;
  schema.random = kernel.random;
  schema.variadic = kernel.variadic;
  schema.fails = kernel.fails;
  schema.arguments = kernel.arguments;
  schema.infer = kernel.infer;
  schema.run = [](const KernelCall&) -> absl::StatusOr<core::Column> {
    return absl::UnimplementedError("the test catalog runs nothing");
  };
  catalog.Add(std::move(schema));
}

inline void AddInfixKernels(Catalog& catalog) {
  for (const char* name : {"add", "subtract", "multiply", "modulo"}) {
    AddKernel(catalog, {.name = name, .operands = 2, .promotes = true});
  }
  AddKernel(catalog, {.name = "floor_divide",
                      .operands = 2,
                      .promotes = true,
                      .fails = Fails::kOnZero});
  AddKernel(catalog, {.name = "divide",
                      .operands = 2,
                      .infer = InferDivide,
                      .promotes = true,
                      .fails = Fails::kOnData});
  for (const char* name :
       {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}) {
    AddKernel(
        catalog,
        {.name = name, .operands = 2, .infer = InferComparison, .promotes = true});
  }
  for (const char* name : {"and", "or"}) {
    AddKernel(catalog, {.name = name, .operands = 2, .infer = InferLogic});
  }
  AddKernel(catalog, {.name = "not", .infer = InferLogic});
  AddKernel(catalog, {.name = "negate"});
}

inline ArgumentSchema TestBound(std::string name) {
  return {.name = std::move(name),
          .type = ArgumentType::kInt,
          .doc = "A bound.",
          .default_value = Value(),
          .none_allowed = true};
}

inline void AddIndexKernels(Catalog& catalog) {
  const ArgumentSchema axis = {.name = "axis", .doc = "The axis.", .default_value = 0};
  const ArgumentSchema step = {.name = "step", .doc = "Apart.", .default_value = 1};
  AddKernel(catalog, {.name = "at",
                      .operands = 2,
                      .infer = InferAt,
                      .fails = Fails::kOnData,
                      .arguments = {axis}});
  AddKernel(catalog,
            {.name = "slice",
             .infer = InferSlice,
             .fails = Fails::kOnUnknownShapes,
             .arguments = {axis, TestBound("start"), TestBound("stop"), step}});
}

inline void AddOtherKernels(Catalog& catalog) {
  std::vector<std::string> names;
  names.reserve(core::kAllDTypes.size());
  for (const core::DType dtype : core::kAllDTypes)
    names.emplace_back(core::Name(dtype));
  AddKernel(catalog, {.name = "cast",
                      .infer = InferCast,
                      .arguments = {{.name = "dtype",
                                     .type = ArgumentType::kText,
                                     .doc = "The type.",
                                     .choices = names}}});
  AddKernel(catalog,
            {.name = "where", .operands = 3, .infer = InferWhere, .promotes = true});
  AddKernel(catalog, {.name = "sqrt"});
  AddKernel(catalog, {.name = "wider", .infer = InferWider});
  AddKernel(catalog, {.name = "maximum", .promotes = true, .variadic = true});
  for (const char* name : {"uniform", "integers", "normal"}) {
    AddKernel(catalog,
              {.name = name, .operands = 2, .infer = InferUniform, .random = true});
  }
  // Arguments of every type that kernels have.
  AddKernel(catalog, {.name = "fill",
                      .infer = InferSame,
                      .arguments = {{.name = "flags",
                                     .type = ArgumentType::kInts,
                                     .doc = "",
                                     .default_value = List()},
                                    {.name = "mean",
                                     .type = ArgumentType::kFloats,
                                     .doc = "",
                                     .default_value = List()},
                                    {.name = "words",
                                     .type = ArgumentType::kTexts,
                                     .doc = "",
                                     .default_value = List()},
                                    {.name = "text",
                                     .type = ArgumentType::kText,
                                     .doc = "",
                                     .default_value = ""},
                                    {.name = "scale",
                                     .type = ArgumentType::kFloat,
                                     .doc = "",
                                     .default_value = 1.0},
                                    {.name = "deep",
                                     .type = ArgumentType::kBool,
                                     .doc = "",
                                     .default_value = false}}});
}

// --- Operators ---

inline ArgumentSchema TestSeed() {
  return {.name = "seed",
          .type = ArgumentType::kInt,
          .doc = "For random numbers; by default the job's.",
          .default_value = Value(),
          .none_allowed = true,
          .least = 0,
          .is_seed = true};
}

inline Cardinality SameCount(const Arguments& /*arguments*/,
                             absl::Span<const Cardinality> inputs) {
  return inputs[0];
}

inline absl::StatusOr<core::Spec> SameSpec(const OperatorTypes& types) {
  return types.inputs[0];
}

inline OperatorSchema TestRange() {
  return {.name = "range",
          .doc = "Whole numbers.",
          .inputs = 0,
          .arguments = {{.name = "start", .doc = "The first.", .default_value = 0},
                        {.name = "stop", .doc = "Where to stop."},
                        {.name = "step", .doc = "Apart.", .default_value = 1}},
          .traits = {.source = true},
          .infer = [](const OperatorTypes& types) -> absl::StatusOr<core::Spec> {
            if (types.arguments["step"] == Value(0)) {
              return absl::InvalidArgumentError("argument step must not be 0");
            }
            return core::Spec({{"value", core::DType::kInt64, {}}});
          },
          .cardinality =
              [](const Arguments& arguments, absl::Span<const Cardinality>) {
                return Cardinality::Known(
                    std::max<int64_t>(0, arguments["stop"].As<int64_t>()));
              }};
}

// A source of rows with many kinds of fields, for expressions inside pipelines.
inline OperatorSchema TestRows() {
  return {.name = "rows",
          .doc = "Rows of the test spec.",
          .inputs = 0,
          .traits = {.source = true},
          .infer = [](const OperatorTypes&) -> absl::StatusOr<core::Spec> {
            return TestRow();
          },
          .cardinality =
              [](const Arguments&, absl::Span<const Cardinality>) {
                return Cardinality::Unknown();
              }};
}

inline absl::StatusOr<core::Spec> InferMap(const OperatorTypes& types) {
  const Expression& function = *types.arguments["function"].As<Function>();
  std::vector<core::FieldSpec> fields;
  for (const Result& result : function.results()) {
    const ValueType& type = function.type_of(result);
    fields.push_back({result.name, type.dtype, type.shape});
  }
  return core::Spec(std::move(fields));
}

inline OperatorSchema TestMap() {
  return {.name = "map",
          .doc = "Replaces every row.",
          .arguments = {{.name = "function",
                         .type = ArgumentType::kRowFunction,
                         .doc = "From the row to the new row."},
                        TestSeed()},
          .traits = {.row_wise = true},
          .infer = InferMap,
          .cardinality = SameCount,
          .is_random = [](const Arguments& arguments) {
            return arguments["function"].As<Function>()->IsRandom();
          }};
}

inline absl::StatusOr<core::Spec> InferFilter(const OperatorTypes& types) {
  const Expression& predicate = *types.arguments["predicate"].As<Function>();
  const ValueType& type = predicate.type_of(predicate.results()[0]);
  if (type == ValueType{core::DType::kBool, {}}) return types.inputs[0];
  return absl::InvalidArgumentError(
      base::StrCat("argument predicate must give one bool, not ", ToString(type)));
}

inline OperatorSchema TestFilter() {
  return {.name = "filter",
          .doc = "Keeps some rows.",
          .arguments = {{.name = "predicate",
                         .type = ArgumentType::kValueFunction,
                         .doc = "From the row to a bool."},
                        TestSeed()},
          .traits = {.row_wise = true, .changes_cardinality = true},
          .infer = InferFilter,
          .cardinality =
              [](const Arguments&, absl::Span<const Cardinality>) {
                return Cardinality::Unknown();
              },
          .is_random =
              [](const Arguments& arguments) {
                return arguments["predicate"].As<Function>()->IsRandom();
              }};
}

inline OperatorSchema TestShuffle() {
  return {.name = "shuffle",
          .doc = "Mixes rows.",
          .arguments = {{.name = "window", .doc = "Rows to choose from.", .least = 1},
                        TestSeed()},
          .traits = {.order_sensitive = true, .reorders = true},
          .infer = SameSpec,
          .cardinality = SameCount,
          .is_random = [](const Arguments&) { return true; }};
}

inline OperatorSchema TestBatch() {
  return {.name = "batch",
          .doc = "Groups rows.",
          .arguments = {{.name = "size",
                         .doc = "Rows per batch.",
                         .least = 1,
                         .most = int64_t{1} << 40,
                         .is_batch_size = true},
                        {.name = "drop_remainder",
                         .type = ArgumentType::kBool,
                         .doc = "Leave out a short last batch.",
                         .default_value = false}},
          .traits = {.order_sensitive = true, .batching = true},
          .infer = [](const OperatorTypes& types) -> absl::StatusOr<core::Spec> {
            return types.inputs[0].Stacked(core::kUnknownSize);
          },
          .cardinality =
              [](const Arguments&, absl::Span<const Cardinality>) {
                return Cardinality::Unknown();
              }};
}

// Puts rows side by side; the second input's fields get a stroke.
inline OperatorSchema TestZip() {
  return {.name = "zip",
          .doc = "Puts rows side by side.",
          .inputs = 2,
          .traits = {.order_sensitive = true},
          .infer = [](const OperatorTypes& types) -> absl::StatusOr<core::Spec> {
            std::vector<core::FieldSpec> fields = types.inputs[0].fields();
            for (core::FieldSpec field : types.inputs[1].fields()) {
              field.name += "'";
              if (fields.size() < 8) fields.push_back(std::move(field));
            }
            return core::Spec(std::move(fields));
          },
          .cardinality = SameCount};
}

// Takes bytes that travel beside the text.
inline OperatorSchema TestFromBytes() {
  return {.name = "from_bytes",
          .doc = "Rows from an attachment.",
          .inputs = 0,
          .arguments = {{.name = "content",
                         .type = ArgumentType::kAttachment,
                         .doc = "The rows."}},
          .traits = {.source = true},
          .infer = [](const OperatorTypes&) -> absl::StatusOr<core::Spec> {
            return core::Spec({{"raw", core::DType::kBytes, {}}});
          },
          .cardinality =
              [](const Arguments&, absl::Span<const Cardinality>) {
                return Cardinality::Unknown();
              }};
}

// The catalog of the tests. A value, so that a test may change versions in its own.
inline Catalog MakeTestCatalog() {
  Catalog catalog;
  AddInfixKernels(catalog);
  AddIndexKernels(catalog);
  AddOtherKernels(catalog);
  for (OperatorSchema& schema :
       std::vector{TestRange(), TestRows(), TestMap(), TestFilter(), TestShuffle(),
                   TestBatch(), TestZip(), TestFromBytes()}) {
    catalog.Add(std::move(schema));
  }
  return catalog;
}

inline const Catalog& TestCatalog() {
  static const Catalog* const catalog = new Catalog(MakeTestCatalog());
  return *catalog;
}

}  // namespace millrace::ir
