// ReadJsonl: the rows of files with a JSON object on every line.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/first_rows.h"
#include "millrace/ops/source/json_fields.h"
#include "millrace/ops/source/json_rows.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/paths.h"
#include "millrace/ops/source/scan_source.h"
#include "millrace/storage/lines.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {
namespace {

struct ReadJsonlArgs {
  std::vector<std::string> paths;
  std::optional<std::string> fields;
  std::string missing = "error";
};

// Lines, as they are.
ScanFormat LinesFormat() {
  return {.format = storage::RowFormat::kLines,
          .spec = core::Spec({{"text", core::DType::kBytes, {}}}),
          .make_scanner = [](int64_t offset) {
            return std::make_unique<storage::LineScanner>(
                storage::LineOptions{.offset = offset});
          }};
}

ScanFormat FormatOf(const ReadJsonlArgs& args) {
  ScanFormat format = LinesFormat();
  format.spec = *core::ParseSpec(*args.fields);
  format.make_parser = [fields = format.spec, missing = *MissingOf(args.missing)](
                           int64_t rows, core::Pool& pool) {
    return MakeJsonRows(fields, missing, rows, pool);
  };
  return format;
}

absl::StatusOr<ir::Arguments> CompleteJsonl(const ReadJsonlArgs& args) {
  if (args.fields) return ir::Arguments();
  TRY(SpecOfPaths(args.paths, {}));
  const std::vector<std::string> rows = TRY(ReadFirstTexts(args.paths, LinesFormat()));
  const core::Spec fields = TRY(TellJsonFields(rows));
  return ir::Arguments{{"fields", fields.ToString()}};
}

absl::StatusOr<core::Spec> InferJsonl(const ReadJsonlArgs& args, const core::Spec&) {
  TRY(MissingOf(args.missing));
  absl::StatusOr<core::Spec> fields = core::ParseSpec(*args.fields);
  if (!fields.ok()) return base::Annotate(fields.status(), "argument fields");
  TRY(CheckJsonFields(*fields));
  return SpecOfPaths(args.paths, *std::move(fields));
}

class ReadJsonl final : public ScanSource {
 public:
  ReadJsonl(const ReadJsonlArgs& args, const SourceContext& context)
      : ScanSource(args.paths, FormatOf(args), context) {}
};

}  // namespace

OperatorDef ReadJsonlDef() {
  return Define<ReadJsonl, ReadJsonlArgs>("read_jsonl")
      .Doc(
          "Reads files with a JSON object on every line. Members become fields; those "
          "of an object in an object are named by their path, as in `a.b`. A field of "
          "strings takes strings, and of anything else its JSON.")
      .Endings({".json", ".jsonl", ".ndjson"})
      .Arg("paths", &ReadJsonlArgs::paths, kPathsDoc, Required())
      .Arg(
          "fields", &ReadJsonlArgs::fields,
          "The fields to read and their types, as in \"{id: int64, tags: string[?]}\"; "
          "others are passed over. Left out, it is told by the first 1,000 rows.")
      .Arg("missing", &ReadJsonlArgs::missing, kMissingDoc)
      .CanFail([](const ReadJsonlArgs&) { return true; })
      .Complete(CompleteJsonl)
      .Infer(InferJsonl)
      .Count([](const ReadJsonlArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
