// FromArrays: arrays in memory; row i is index i of their leading axes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/type.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/block_reader.h"

namespace millrace::ops {
namespace {

struct FromArraysArgs {
  std::vector<std::string> names;
  std::vector<ir::Attachment> arrays;
};

core::Shape RowShape(const core::Shape& shape) {
  return core::Shape(shape.sizes().subspan(1));
}

// The rows of one array, none of them copied.
absl::StatusOr<core::Column> RowsOf(const core::Tensor& array) {
  const int64_t rows = array.shape()[0];
  const core::Shape row_shape = RowShape(array.shape());
  if (!core::IsVariable(array.dtype())) {
    return core::Column::Dense(array.dtype(), rows, row_shape, array.values());
  }
  core::Levels levels;
  for (const int64_t size : row_shape.sizes()) {
    levels.push_back(core::Level::Fixed(size));
  }
  levels.push_back(core::Level::Variable(array.offsets()));
  return core::Column::FromLevels(array.dtype(), rows, std::move(levels),
                                  array.values());
}

// How many rows there are, as the first array says.
absl::StatusOr<int64_t> CountOf(const FromArraysArgs& args) {
  if (args.arrays.empty()) {
    return absl::InvalidArgumentError("argument arrays must hold one array at least");
  }
  const ir::ValueType type = TRY(ir::DecodeTensorType(args.arrays[0]));
  if (type.shape.rank() > 0) return type.shape[0];
  return absl::InvalidArgumentError(base::StrCat(
      "argument arrays has a single value for ", args.names[0], "; rows need an axis"));
}

absl::StatusOr<core::Spec> InferArrays(const FromArraysArgs& args, const core::Spec&) {
  if (args.names.size() != args.arrays.size()) {
    return absl::InvalidArgumentError(base::StrCat("argument names has ",
                                                   args.names.size(), " names for ",
                                                   args.arrays.size(), " arrays"));
  }
  const int64_t rows = TRY(CountOf(args));
  std::vector<core::FieldSpec> fields;
  for (size_t i = 0; i < args.names.size(); ++i) {
    const ir::ValueType type = TRY(ir::DecodeTensorType(args.arrays[i]));
    TRY(core::CheckFieldName(args.names[i]));
    if (std::ranges::count(args.names, args.names[i]) > 1) {
      return absl::InvalidArgumentError(
          base::StrCat("argument names has one twice: ", args.names[i]));
    }
    if (type.shape.rank() == 0 || type.shape[0] != rows) {
      return absl::InvalidArgumentError(base::StrCat(
          "arrays differ in their number of rows: ", args.names[0], " has ", rows, ", ",
          args.names[i], " is ", type.shape.ToString()));
    }
    fields.push_back({args.names[i], type.dtype, RowShape(type.shape)});
  }
  return core::Spec(std::move(fields));
}

class FromArrays final : public Source {
 public:
  FromArrays(FromArraysArgs args, const SourceContext& context)
      : args_(std::move(args)), context_(context) {}

  bool waits() const override { return false; }

  absl::StatusOr<lanes::Manifest> List() override {
    std::vector<core::Column> columns;
    base::Sha256Hasher hasher;
    for (const ir::Attachment& array : args_.arrays) {
      columns.push_back(TRY(RowsOf(TRY(ir::DecodeTensor(array)))));
      hasher.Update(base::ToHex(array.hash()));
    }
    const int64_t rows = TRY(CountOf(args_));
    arrays_ = core::Block(rows, args_.names, std::move(columns));
    return lanes::Manifest{
        {{.name = base::StrCat("arrays ", base::ToHex(hasher.Finish())),
          .bytes = base::Bytes(arrays_.content_bytes()),
          .version = "",
          .rows = rows,
          .seekable = true}}};
  }

  std::string NameOfRow(int64_t /*split*/, int64_t row) const override {
    return base::StrCat("row ", row);
  }

  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override {
    CHECK(rows.begin >= 0 && rows.end <= arrays_.rows());
    return std::make_unique<BlockReader>(arrays_, rows, context_);
  }

 private:
  const FromArraysArgs args_;
  const SourceContext context_;
  core::Block arrays_;
};

}  // namespace

OperatorDef FromArraysDef() {
  return Define<FromArrays, FromArraysArgs>("from_arrays")
      .Doc(
          "Gives the rows of arrays in memory: row i is index i of each array's "
          "leading axis.")
      .Arg("names", &FromArraysArgs::names, "The field of each array.", Required())
      .Arg("arrays", &FromArraysArgs::arrays,
           "The arrays, with as many rows each; attachments as pipelines carry them.")
      .Infer(InferArrays)
      .Count([](const FromArraysArgs& args, const ir::Cardinality&) {
        const absl::StatusOr<int64_t> rows = CountOf(args);
        return rows.ok() ? ir::Cardinality::Known(*rows) : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
