// FromRows: rows in memory, whose values may differ in shape.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/type.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/block_reader.h"
#include "millrace/ops/source/packed_rows.h"

namespace millrace::ops {
namespace {

absl::Status CheckLists(const PackedRows& args) {
  if (args.names.empty()) {
    return absl::InvalidArgumentError("argument names must hold one name at least");
  }
  if (args.values.size() == args.names.size() &&
      args.shapes.size() == args.names.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(base::StrCat(
      "arguments names, values and shapes must be as long, not ", args.names.size(),
      ", ", args.values.size(), " and ", args.shapes.size()));
}

// The closest shape that admits all.
core::Shape JoinAll(const std::vector<core::Shape>& shapes) {
  core::Shape joined = shapes[0];
  for (const core::Shape& shape : shapes) joined = core::Join(joined, shape);
  return joined;
}

absl::StatusOr<core::Spec> InferRows(const PackedRows& args, const core::Spec&) {
  TRY(CheckLists(args));
  const size_t rows = TRY(ReadShapes(args.shapes[0])).size();
  if (rows == 0) return absl::InvalidArgumentError("argument shapes has no rows");
  std::vector<core::FieldSpec> fields;
  for (size_t i = 0; i < args.names.size(); ++i) {
    TRY(core::CheckFieldName(args.names[i]));
    if (std::ranges::count(args.names, args.names[i]) > 1) {
      return absl::InvalidArgumentError(
          base::StrCat("argument names has one twice: ", args.names[i]));
    }
    const std::vector<core::Shape> shapes = TRY(ReadShapes(args.shapes[i]));
    if (shapes.size() != rows) {
      return absl::InvalidArgumentError(
          base::StrCat("fields differ in their number of rows: ", args.names[0],
                       " has ", rows, ", ", args.names[i], " has ", shapes.size()));
    }
    const ir::ValueType type = TRY(ir::DecodeTensorType(args.values[i]));
    fields.push_back({args.names[i], type.dtype, JoinAll(shapes)});
  }
  return core::Spec(std::move(fields));
}

ir::Cardinality CountRows(const PackedRows& args, const ir::Cardinality&) {
  const absl::StatusOr<std::vector<core::Shape>> shapes = ReadShapes(args.shapes[0]);
  return shapes.ok() ? ir::Cardinality::Known(std::ssize(*shapes))
                     : ir::Cardinality::Unknown();
}

class FromRows final : public Source {
 public:
  FromRows(PackedRows args, const SourceContext& context)
      : args_(std::move(args)), context_(context) {}

  absl::StatusOr<lanes::Manifest> List() override {
    std::vector<core::Column> columns;
    base::Sha256Hasher hasher;
    for (size_t i = 0; i < args_.names.size(); ++i) {
      columns.push_back(
          TRY(ReadColumn(args_.values[i], TRY(ReadShapes(args_.shapes[i])))));
      hasher.Update(base::ToHex(args_.values[i].hash()));
      hasher.Update(base::ToHex(args_.shapes[i].hash()));
    }
    const int64_t rows = columns[0].rows();
    rows_ = core::Block(rows, args_.names, std::move(columns));
    return lanes::Manifest{
        {{.name = base::StrCat("rows ", base::ToHex(hasher.Finish())),
          .bytes = base::Bytes(rows_.content_bytes()),
          .version = "",
          .rows = rows,
          .seekable = true}}};
  }

  bool waits() const override { return false; }

  std::string NameOfRow(int64_t /*split*/, int64_t row) const override {
    return base::StrCat("row ", row);
  }

  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override {
    CHECK(rows.begin >= 0 && rows.end <= rows_.rows());
    return std::make_unique<BlockReader>(rows_, rows, context_);
  }

 private:
  const PackedRows args_;
  const SourceContext context_;
  core::Block rows_;
};

}  // namespace

OperatorDef FromRowsDef() {
  return Define<FromRows, PackedRows>("from_rows")
      .Doc(
          "Gives rows that are in memory, whose values may differ in shape from row to "
          "row. PackRows makes the arguments from rows.")
      .Arg("names", &PackedRows::names, "The fields.", Required())
      .Arg("values", &PackedRows::values,
           "For each field the values of all rows, one after another; attachments as "
           "pipelines carry them.")
      .Arg("shapes", &PackedRows::shapes,
           "For each field the shape of every row: int64[rows, axes].")
      .Infer(InferRows)
      .Count(CountRows);
}

}  // namespace millrace::ops
