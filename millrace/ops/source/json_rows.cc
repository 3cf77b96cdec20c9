#include "millrace/ops/source/json_rows.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/json.h"
#include "millrace/codec/json_text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source/field_column.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/row_parser.h"

namespace millrace::ops {
namespace {

using codec::JsonValue;
using Kind = JsonValue::Kind;

std::vector<std::string> NamesOf(const core::Spec& fields) {
  std::vector<std::string> names;
  for (const core::FieldSpec& field : fields.fields()) names.push_back(field.name);
  return names;
}

absl::Status WrongType(const JsonValue& value, const FieldColumn& column) {
  return absl::DataLossError(base::StrCat(codec::Name(value.kind), ", ",
                                          Shown(value.text), ", is no ",
                                          core::Name(column.spec().dtype)));
}

absl::Status PutString(std::string_view text, FieldColumn& column) {
  if (text.find('\\') == std::string_view::npos) return column.PutText(text);
  char* const room = TRY(column.RoomForText(std::ssize(text)));
  const std::optional<size_t> size = codec::UnescapeJson(text, room);
  if (!size) return absl::DataLossError("a string with a wrong escape");
  return column.EndText(static_cast<int64_t>(*size));
}

// Whole numbers are read strictly enough, but for zeros in front of them.
bool IsNumber(std::string_view text, const FieldColumn& column) {
  if (!column.holds_integers()) return codec::IsJsonNumber(text);
  const size_t first = text[0] == '-' ? 1 : 0;
  const bool zero_first = text.size() > first + 1 && text[first] == '0';
  return !zero_first || text[first + 1] < '0' || text[first + 1] > '9';
}

absl::Status PutScalar(const JsonValue& value, FieldColumn& column) {
  const bool is_text = column.holds_texts();
  switch (value.kind) {
    case Kind::kString:
      return is_text ? PutString(value.text, column) : WrongType(value, column);
    case Kind::kNumber:
      if (!IsNumber(value.text, column)) {
        return absl::DataLossError(base::StrCat(Shown(value.text), " is no number"));
      }
      return column.PutNumber(value.text);
    case Kind::kBool:
      return column.PutBool(value.text == "true");
    case Kind::kArray:
    case Kind::kObject:
      return is_text ? column.PutText(value.text) : WrongType(value, column);
    default:
      return WrongType(value, column);
  }
}

absl::Status PutValue(const JsonValue& value, int axis, FieldColumn& column) {
  if (axis == column.rank()) return PutScalar(value, column);
  if (value.kind != Kind::kArray) {
    return absl::DataLossError(
        base::StrCat("found ", codec::Name(value.kind), ", no array"));
  }
  codec::JsonItems items(value.text);
  JsonValue item;
  int64_t count = 0;
  for (; items.Next(item); ++count) TRY(PutValue(item, axis + 1, column));
  if (!items.ok()) return absl::DataLossError("found an array that is no valid JSON");
  return column.EndAxis(axis, count);
}

class JsonRows final : public RowParser {
 public:
  JsonRows(const core::Spec& fields, Missing missing, int64_t rows, core::Pool& pool)
      : missing_(missing), picker_(NamesOf(fields)), values_(fields.fields().size()) {
    for (const core::FieldSpec& field : fields.fields()) {
      columns_.push_back(std::make_unique<FieldColumn>(field, rows, pool));
    }
  }

  absl::Status Add(const RowText& row) override {
    absl::Status added = Put(Padded(row));
    for (const auto& column : columns_)
      added.ok() ? column->EndRow() : column->DropRow();
    return added;
  }

  absl::StatusOr<std::vector<core::Column>> Take() override {
    std::vector<core::Column> taken;
    taken.reserve(columns_.size());
    for (const auto& column : columns_) taken.push_back(TRY(column->Take()));
    return taken;
  }

 private:
  // The text, without a mark of its encoding, where bytes behind it can be read.
  std::string_view Padded(const RowText& row) {
    const std::string_view text = codec::WithoutMark(row.text);
    if (row.slack >= codec::kJsonSlack) return text;
    padded_.assign(text);
    padded_.append(codec::kJsonSlack, '\0');
    return std::string_view(padded_).substr(0, text.size());
  }

  absl::Status Put(std::string_view text) {
    TRY(picker_.Pick(text, absl::MakeSpan(values_)));
    for (size_t i = 0; i < columns_.size(); ++i) {
      absl::Status put = PutField(values_[i], *columns_[i]);
      if (put.ok()) continue;
      return base::Annotate(put, base::StrCat("field ", columns_[i]->spec().name));
    }
    return absl::OkStatus();
  }

  absl::Status PutField(const JsonValue& value, FieldColumn& column) const {
    if (value.kind != Kind::kMissing && value.kind != Kind::kNull) {
      return PutValue(value, 0, column);
    }
    if (missing_ == Missing::kDefault) return column.PutDefault();
    return absl::DataLossError(
        base::StrCat(value.kind == Kind::kNull ? "it is null" : "it is missing",
                     ": leave it out of `fields`, or say missing=\"default\""));
  }

  const Missing missing_;
  codec::JsonPicker picker_;
  std::vector<JsonValue> values_;
  std::vector<std::unique_ptr<FieldColumn>> columns_;
  std::string padded_;
};

}  // namespace

absl::Status CheckJsonFields(const core::Spec& fields) {
  if (fields.fields().empty()) {
    return absl::InvalidArgumentError("argument fields must name at least one field");
  }
  for (const core::FieldSpec& field : fields.fields()) {
    if (!field.shape.ranked()) {
      return absl::InvalidArgumentError(base::StrCat(
          "field ", field.name, " needs a shape with known axes, such as [?]"));
    }
    for (size_t dot = field.name.find('.'); dot != std::string::npos;
         dot = field.name.find('.', dot + 1)) {
      const std::string outer = field.name.substr(0, dot);
      if (fields.Find(outer) == nullptr) continue;
      return absl::InvalidArgumentError(base::StrCat(
          "field ", field.name, " lies in field ", outer, ": name one of them"));
    }
  }
  return absl::OkStatus();
}

std::unique_ptr<RowParser> MakeJsonRows(const core::Spec& fields, Missing missing,
                                        int64_t rows, core::Pool& pool) {
  return std::make_unique<JsonRows>(fields, missing, rows, pool);
}

}  // namespace millrace::ops
