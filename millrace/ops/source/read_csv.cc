// ReadCsv: the rows of CSV files.

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
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/csv_cells.h"
#include "millrace/ops/source/csv_rows.h"
#include "millrace/ops/source/first_rows.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/paths.h"
#include "millrace/ops/source/row_parser.h"
#include "millrace/ops/source/scan_source.h"
#include "millrace/storage/csv.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {
namespace {

struct ReadCsvArgs {
  std::vector<std::string> paths;
  std::optional<std::string> fields;
  std::vector<std::string> columns;
  std::vector<std::string> select;
  bool header = true;
  std::string separator = ",";
  std::string quote = "\"";
  std::string missing = "error";
};

absl::StatusOr<CsvSyntax> SyntaxOf(const ReadCsvArgs& args) {
  const auto is_plain = [](char c) { return c != '\n' && c != '\r' && c != '\0'; };
  if (args.separator.size() != 1 || !is_plain(args.separator[0])) {
    return absl::InvalidArgumentError(
        "argument separator must be one byte, and no end of a line");
  }
  if (args.quote.empty()) return CsvSyntax{.separator = args.separator[0], .quote = 0};
  if (args.quote.size() != 1 || !is_plain(args.quote[0]) ||
      args.quote == args.separator) {
    return absl::InvalidArgumentError(
        "argument quote must be one byte, no end of a line and not the separator, or "
        "empty where there are no quotes");
  }
  return CsvSyntax{.separator = args.separator[0], .quote = args.quote[0]};
}

// Whether a file's header is what the columns say.
absl::Status CheckHeader(std::string_view header,
                         const std::vector<std::string>& columns,
                         const CsvSyntax& syntax) {
  const std::vector<std::string> names = TRY(ReadCsvHeader(header, syntax));
  if (names == columns) return absl::OkStatus();
  return absl::DataLossError(
      base::StrCat("header has other columns, ", absl::StrJoin(names, ", "), ", than ",
                   absl::StrJoin(columns, ", "), ": read such files by themselves"));
}

// Rows as they are; a header is looked at where there are columns to compare.
ScanFormat RowsFormat(const ReadCsvArgs& args, const CsvSyntax& syntax) {
  storage::CsvOptions options = {
      .header = args.header, .separator = syntax.separator, .quote = syntax.quote};
  if (!args.columns.empty()) {
    options.check_header = [columns = args.columns, syntax](std::string_view header) {
      return CheckHeader(header, columns, syntax);
    };
  }
  const bool usual = syntax.separator == ',' && syntax.quote == '"';
  return {.format = args.header ? storage::RowFormat::kCsv
                                : storage::RowFormat::kCsvWithoutHeader,
          .spec = core::Spec({{"text", core::DType::kBytes, {}}}),
          .indexes = usual,
          .begins_with_header = args.header,
          .make_scanner = [options](int64_t offset) mutable {
            storage::CsvOptions here = options;
            here.offset = offset;
            return std::make_unique<storage::CsvScanner>(here);
          }};
}

absl::StatusOr<CsvPlan> PlanOf(const ReadCsvArgs& args) {
  CsvPlan plan = {.columns = args.columns,
                  .fields = {},
                  .syntax = TRY(SyntaxOf(args)),
                  .missing = TRY(MissingOf(args.missing))};
  absl::StatusOr<core::Spec> fields = core::ParseSpec(args.fields.value_or(""));
  if (!fields.ok()) return base::Annotate(fields.status(), "argument fields");
  plan.fields = *std::move(fields);
  if (args.select.empty()) return plan;
  std::vector<core::FieldSpec> selected;
  for (const std::string& name : args.select) {
    const core::FieldSpec* const field = plan.fields.Find(name);
    if (field == nullptr) {
      return absl::InvalidArgumentError(base::StrCat("argument select names ", name,
                                                     ", and there are the fields ",
                                                     plan.fields.Names()));
    }
    selected.push_back(*field);
  }
  plan.fields = core::Spec(std::move(selected));
  return plan;
}

ScanFormat FormatOf(const ReadCsvArgs& args) {
  CsvPlan plan = *PlanOf(args);
  ScanFormat format = RowsFormat(args, plan.syntax);
  format.spec = plan.fields;
  format.make_parser = [plan = std::move(plan)](int64_t rows, core::Pool& pool) {
    return MakeCsvRows(plan, rows, pool);
  };
  return format;
}

// The columns by a header, or by the first row: column0, column1, ...
absl::StatusOr<std::vector<std::string>> TellColumns(const ReadCsvArgs& args,
                                                     const CsvSyntax& syntax) {
  ReadCsvArgs rows = args;
  rows.header = false;
  const auto first = TRY(ReadFirstTexts(args.paths, RowsFormat(rows, syntax)));
  std::vector<std::string> columns = TRY(ReadCsvHeader(first[0], syntax));
  for (size_t i = 0; i < columns.size() && !args.header; ++i) {
    columns[i] = base::StrCat("column", i);
  }
  return columns;
}

absl::StatusOr<std::vector<std::string>> ColumnsOf(const ReadCsvArgs& args,
                                                   const CsvSyntax& syntax) {
  if (!args.columns.empty()) return args.columns;
  if (args.header || !args.fields) return TellColumns(args, syntax);
  // Without a header and names, what is read is all there is.
  std::vector<std::string> columns;
  const core::Spec fields = TRY(core::ParseSpec(*args.fields));
  for (const core::FieldSpec& field : fields.fields()) columns.push_back(field.name);
  return columns;
}

absl::StatusOr<ir::Arguments> CompleteCsv(const ReadCsvArgs& args) {
  const CsvSyntax syntax = TRY(SyntaxOf(args));
  TRY(SpecOfPaths(args.paths, {}));
  ReadCsvArgs all = args;
  all.columns = TRY(ColumnsOf(args, syntax));
  ir::Arguments told;
  told.Set("columns", ir::List(all.columns.begin(), all.columns.end()));
  if (args.fields) return told;
  const auto rows = TRY(ReadFirstTexts(args.paths, RowsFormat(args, syntax)));
  const CsvPlan plan = {.columns = all.columns, .fields = {}, .syntax = syntax};
  all.fields = TellCsvFields(rows, plan).ToString();
  told.Set("fields", TRY(PlanOf(all)).fields.ToString());
  return told;
}

absl::StatusOr<core::Spec> InferCsv(const ReadCsvArgs& args, const core::Spec&) {
  const CsvPlan plan = TRY(PlanOf(args));
  TRY(CheckCsvFields(plan));
  return SpecOfPaths(args.paths, plan.fields);
}

class ReadCsv final : public ScanSource {
 public:
  ReadCsv(const ReadCsvArgs& args, const SourceContext& context)
      : ScanSource(args.paths, FormatOf(args), context) {}
};

}  // namespace

OperatorDef ReadCsvDef() {
  return Define<ReadCsv, ReadCsvArgs>("read_csv")
      .Doc(
          "Reads the rows of CSV files, as RFC 4180 has them; cells become fields by "
          "the names of their columns. A cell that is empty, not quoted and no text is "
          "missing. Empty lines are no rows.")
      .Endings({".csv"})
      .Arg("paths", &ReadCsvArgs::paths, kPathsDoc, Required())
      .Arg("fields", &ReadCsvArgs::fields,
           "The columns to read and their types, as in \"{id: int64, name: string}\". "
           "Left out, it is told by the first 1,000 rows.")
      .Arg("columns", &ReadCsvArgs::columns,
           "The names of all columns, in order. Left out, it is told by the header of "
           "the first file; without a header they are column0, column1, ...")
      .Arg("select", &ReadCsvArgs::select,
           "Of the fields, those to read. Left out, all.")
      .Arg("header", &ReadCsvArgs::header,
           "Files begin with the names of their columns.")
      .Arg("separator", &ReadCsvArgs::separator, "What stands between cells.")
      .Arg(
          "quote", &ReadCsvArgs::quote,
          "What stands around cells that hold separators or ends of lines; empty where "
          "nothing does.")
      .Arg("missing", &ReadCsvArgs::missing, kMissingDoc)
      .CanFail([](const ReadCsvArgs&) { return true; })
      .Complete(CompleteCsv)
      .Infer(InferCsv)
      .Count([](const ReadCsvArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
