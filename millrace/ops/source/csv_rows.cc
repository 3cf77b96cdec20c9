#include "millrace/ops/source/csv_rows.h"

#include <algorithm>
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
#include "absl/strings/str_join.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/base/utf8.h"
#include "millrace/codec/json_text.h"
#include "millrace/codec/number_text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source/csv_cells.h"
#include "millrace/ops/source/field_column.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/row_parser.h"

namespace millrace::ops {
namespace {

using codec::NumberRead;

std::optional<bool> ReadBool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE" || text == "1") return true;
  if (text == "false" || text == "False" || text == "FALSE" || text == "0") {
    return false;
  }
  return std::nullopt;
}

class CsvRows final : public RowParser {
 public:
  CsvRows(const CsvPlan& plan, int64_t rows, core::Pool& pool)
      : columns_(plan.columns.size()), missing_(plan.missing), cells_(plan.syntax) {
    for (const core::FieldSpec& field : plan.fields.fields()) {
      const auto place = std::ranges::find(plan.columns, field.name);
      fields_.push_back({.place = static_cast<size_t>(place - plan.columns.begin()),
                         .column = std::make_unique<FieldColumn>(field, rows, pool)});
      has_strings_ = has_strings_ || field.dtype == core::DType::kString;
    }
  }

  absl::Status Add(const RowText& row) override {
    absl::Status added = Put(codec::WithoutMark(row.text));
    if (added.ok()) {
      for (Field& field : fields_) field.column->EndRow();
    } else {
      for (Field& field : fields_) field.column->DropRow();
    }
    return added;
  }

  absl::StatusOr<std::vector<core::Column>> Take() override {
    std::vector<core::Column> taken;
    taken.reserve(fields_.size());
    for (Field& field : fields_) taken.push_back(TRY(field.column->Take()));
    return taken;
  }

 private:
  struct Field {
    size_t place = 0;
    std::unique_ptr<FieldColumn> column;
  };

  absl::Status Put(std::string_view text) {
    absl::Status split = cells_.Split(text, columns_);
    if (!split.ok()) return split;
    if (cells_.count() != columns_) {
      return absl::DataLossError(base::StrCat("a row of ", cells_.count(),
                                              " cells where there are ", columns_,
                                              " columns"));
    }
    if (has_strings_ && !base::IsUtf8(text)) {
      return absl::DataLossError(
          base::StrCat("no valid UTF-8 at its byte ", base::ValidUtf8Size(text)));
    }
    for (Field& field : fields_) {
      const absl::Status put = PutCell(cells_[field.place], *field.column);
      if (put.ok()) continue;
      return base::Annotate(put, base::StrCat("field ", field.column->spec().name));
    }
    return absl::OkStatus();
  }

  absl::Status PutCell(const CsvCell& cell, FieldColumn& column) const {
    if (column.holds_texts()) return column.PutText(cell.text);
    if (cell.text.empty() && !cell.quoted) {
      if (missing_ == Missing::kDefault) return column.PutDefault();
      return absl::DataLossError(
          "it is missing: leave it out of `fields`, or say missing=\"default\"");
    }
    if (column.spec().dtype != core::DType::kBool) return column.PutNumber(cell.text);
    const std::optional<bool> value = ReadBool(cell.text);
    if (value) return column.PutBool(*value);
    return absl::DataLossError(base::StrCat(Shown(cell.text), " is no bool"));
  }

  const size_t columns_;
  const Missing missing_;
  bool has_strings_ = false;
  CsvCells cells_;
  std::vector<Field> fields_;
};

// What the cells of a column were seen to be.
struct Seen {
  bool any = false;
  bool integers = true;
  bool numbers = true;
  bool bools = true;

  void Add(const CsvCell& cell) {
    if (cell.text.empty() && !cell.quoted) return;
    int64_t integer = 0;
    double number = 0;
    any = true;
    integers = integers && codec::ReadInteger(cell.text, &integer) == NumberRead::kDone;
    numbers = numbers && codec::ReadFloat(cell.text, &number) == NumberRead::kDone;
    bools = bools && ReadBool(cell.text).has_value();
  }

  core::DType Type() const {
    if (!any) return core::DType::kString;
    if (integers) return core::DType::kInt64;
    if (numbers) return core::DType::kFloat64;
    return bools ? core::DType::kBool : core::DType::kString;
  }
};

}  // namespace

absl::Status CheckCsvFields(const CsvPlan& plan) {
  if (plan.fields.fields().empty()) {
    return absl::InvalidArgumentError("argument fields must name at least one field");
  }
  for (const core::FieldSpec& field : plan.fields.fields()) {
    const auto count = std::ranges::count(plan.columns, field.name);
    if (count > 1) {
      return absl::InvalidArgumentError(base::StrCat(
          "field ", field.name, " is two columns: give them different names"));
    }
    if (count == 0) {
      return absl::InvalidArgumentError(
          base::StrCat("field ", field.name, " is no column; there are ",
                       absl::StrJoin(plan.columns, ", ")));
    }
    if (!field.shape.is_scalar()) {
      return absl::InvalidArgumentError(base::StrCat(
          "field ", field.name, " has a shape: a cell of CSV holds one value"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadCsvHeader(std::string_view header,
                                                       const CsvSyntax& syntax) {
  constexpr size_t kColumnsMax = 1 << 16;
  CsvCells cells(syntax);
  TRY(cells.Split(codec::WithoutMark(header), kColumnsMax));
  if (cells.count() > kColumnsMax) {
    return absl::DataLossError(
        base::StrCat("there are more than ", kColumnsMax, " columns"));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < cells.count(); ++i) {
    const bool named = !cells[i].text.empty();
    names.push_back(named ? std::string(cells[i].text) : base::StrCat("column", i));
  }
  return names;
}

std::unique_ptr<RowParser> MakeCsvRows(const CsvPlan& plan, int64_t rows,
                                       core::Pool& pool) {
  return std::make_unique<CsvRows>(plan, rows, pool);
}

core::Spec TellCsvFields(const std::vector<std::string>& rows, const CsvPlan& plan) {
  CsvCells cells(plan.syntax);
  std::vector<Seen> seen(plan.columns.size());
  for (const std::string& row : rows) {
    if (!cells.Split(codec::WithoutMark(row), seen.size()).ok()) continue;
    if (cells.count() != seen.size()) continue;
    for (size_t i = 0; i < seen.size(); ++i) seen[i].Add(cells[i]);
  }
  std::vector<core::FieldSpec> fields;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!core::CheckFieldName(plan.columns[i]).ok()) continue;
    fields.push_back({plan.columns[i], seen[i].Type(), {}});
  }
  return core::Spec(std::move(fields));
}

}  // namespace millrace::ops
