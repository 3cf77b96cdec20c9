#include "millrace/kernels/example/feature_rows.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/example/entries.h"
#include "millrace/kernels/example/feature.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/values.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;
using ir::ValueType;

constexpr int64_t kEnds = 2;  // A place is where it begins and where it ends.

bool CanBePlaces(const ValueType& type) {
  if (type.dtype != DType::kInt64) return false;
  if (!type.shape.ranked()) return true;
  if (type.shape.rank() != 2) return false;
  return type.shape[1] == kEnds || type.shape[1] == core::kUnknownSize;
}

}  // namespace

absl::Status CheckRecord(const ValueType& type) {
  const bool scalar = !type.shape.ranked() || type.shape.is_scalar();
  if (core::IsVariable(type.dtype) && scalar) return absl::OkStatus();
  return Needs("the bytes of one record", {&type, 1});
}

absl::Status CheckReader(const ir::KernelTypes& types) {
  TRY(CheckRecord(types.operands[0]));
  const ValueType& entries = types.operands[1];
  if (!CanBePlaces(entries)) {
    return Needs("places of entries", {&entries, 1},
                 "example_features and sequence_features find them");
  }
  const auto index = types.arguments["index"].As<int64_t>();
  const bool known = entries.shape.ranked() && entries.shape[0] != core::kUnknownSize;
  if (!known || index < entries.shape[0]) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat("argument index is ", index,
                                                 ", but there are the places of ",
                                                 entries.shape[0], " features"));
}

std::vector<ir::OperandSchema> ReaderOperands() {
  return {{"record", "The bytes of one record per row."},
          {"entries",
           "Where its features are, as example_features or sequence_features found "
           "them."}};
}

std::vector<ir::ArgumentSchema> ReaderArguments() {
  return {{.name = "index",
           .type = ir::ArgumentType::kInt,
           .doc = "Which of the names that were looked for: its place in the list.",
           .least = 0},
          {.name = "name",
           .type = ir::ArgumentType::kText,
           .doc = "The name itself; checked, and told in errors."}};
}

std::optional<Shape> ShapeArgument(const ir::Arguments& arguments) {
  const ir::Value& shape = arguments["shape"];
  if (shape.is_none()) return std::nullopt;
  Sizes sizes;
  for (const ir::Value& size : shape.As<ir::List>()) {
    sizes.push_back(size.As<int64_t>());
  }
  return Shape(sizes);
}

RecordRows::RecordRows(const ir::Operand& operand) : operand_(operand) {
  const core::Column& column = operand.column;
  plain_ = !column.HoldsTensors() && column.shape_levels().empty();
  if (!plain_ || column.rows() == 0) return;
  values_ = ValuesOf(column);
  if (operand.constant) values_.step = 0;
}

absl::StatusOr<std::string_view> RecordRows::SlowlyAt(int64_t row) const {
  const Tensor tensor = TRY(RowOf(operand_, row));
  if (tensor.shape().is_scalar()) return tensor.TextAt(0);
  return absl::InvalidArgumentError(
      base::StrCat("needs the bytes of one record, not a value of shape ",
                   tensor.shape().ToString()));
}

FeatureRows::FeatureRows(const ir::KernelCall& call)
    : entries_(call.operands[1]),
      records_(call.operands[0]),
      name_(call.arguments["name"].As<std::string>()),
      header_(PlainEntryHeader(name_)),
      index_(call.arguments["index"].As<int64_t>()) {
  const core::Column& column = entries_.column;
  if (!column.IsDense() || column.rows() == 0) return;
  const Shape shape = *column.row_shape();
  if (shape.rank() != 2 || shape[1] != kEnds || index_ >= shape[0]) return;
  places_ = column.As<int64_t>().data() + index_ * kEnds;
  row_step_ = entries_.constant ? 0 : shape.Count();
}

absl::StatusOr<EntryPlace> FeatureRows::SlowPlaceAt(int64_t row) const {
  const Tensor tensor = TRY(RowOf(entries_, row));
  const Shape& shape = tensor.shape();
  if (shape.rank() != 2 || shape[1] != kEnds || index_ >= shape[0]) {
    return absl::InvalidArgumentError(base::StrCat("places of entries have shape ",
                                                   shape.ToString(),
                                                   ", which has no place ", index_));
  }
  const absl::Span<const int64_t> place =
      tensor.As<int64_t>().subspan(index_ * kEnds, kEnds);
  return EntryPlace{.begin = place[0], .end = place[1]};
}

absl::Status FeatureRows::Beyond(const EntryPlace& place, int64_t size) {
  return absl::InvalidArgumentError(
      base::StrCat("an entry from byte ", place.begin, " to ", place.end,
                   " is not in a record of ", size, " bytes"));
}

absl::Status FeatureRows::CheckName(std::string_view entry,
                                    std::string_view record) const {
  const std::string_view name = TRY(NameOf(entry, record));
  if (name == name_) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat("at place ", index_,
                                                 " is the feature ", ir::Shown(name),
                                                 ", not ", ir::Shown(name_)));
}

absl::Status FeatureRows::Annotated(const absl::Status& error) const {
  if (error.ok()) return error;
  return base::Annotate(error, base::StrCat("feature ", ir::Shown(name_)));
}

absl::Status FeatureRows::Missing() const {
  return absl::InvalidArgumentError(
      base::StrCat("there is no feature ", ir::Shown(name_)));
}

absl::Status FeatureRows::WrongKind(FeatureKind is, FeatureKind wanted) const {
  return absl::InvalidArgumentError(base::StrCat(
      "feature ", ir::Shown(name_), " has ", Describe(is), ", not ", Describe(wanted)));
}

absl::Status FeatureRows::WrongCount(int64_t is, const Shape& wanted) const {
  return absl::InvalidArgumentError(base::StrCat("feature ", ir::Shown(name_), " has ",
                                                 is, " values, not those of shape ",
                                                 wanted.ToString()));
}

}  // namespace millrace::kernels
