// WriteRows: writes the rows of each lane to a file of its own, and gives one row for
// each, once its file is there.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/ops/block_joiner.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/saved_set.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {
namespace {

struct WriteRowsArgs {
  std::string path;
  std::string format = "frames";
  std::string name;
};

class WriteRows final : public Operator {
 public:
  WriteRows(const WriteRowsArgs& args, const SaveFormat& format,
            const LaneContext& lane)
      : format_(format),
        lane_(lane),
        path_(base::StrCat(args.path, "/",
                           SavedFileName(lane.lane_number, args.name, format.ending))),
        joiner_(lane.pool) {}

  absl::Status Push(core::Block block, Emitter& /*out*/) override {
    TRY(Begin());  // Whether it may be written is known before much is computed.
    return Append(TRY(joiner_.Add(std::move(block))));
  }

  // A lane without rows is a file too: whoever waits for it finds it.
  absl::StatusOr<Held> Finish(Emitter& out) override {
    TRY(Begin());
    TRY(Append(TRY(joiner_.Rest())));
    TRY(std::exchange(file_, nullptr)->Publish());
    TRY(out.Emit(TRY(Told())));
    return Held::kNothing;
  }

 private:
  absl::Status Begin() {
    if (file_ != nullptr) return absl::OkStatus();
    // Somebody may have run the lane before, and others may read that file by now.
    file_ =
        TRY(format_.begin(TRY(lane_.blobs.Create(path_, storage::Existing::kKeep)),
                          {.spec = *lane_.input, .first_row = 0, .pool = lane_.pool}));
    return absl::OkStatus();
  }

  absl::Status Append(const std::optional<core::Block>& rows) {
    if (!rows) return absl::OkStatus();
    rows_ += rows->rows();
    return file_->Append(*rows);
  }

  absl::StatusOr<core::Block> Told() const {
    const auto column = [&](int64_t value) -> absl::StatusOr<core::Column> {
      return core::Column::Dense(
          core::DType::kInt64, 1, {},
          TRY(core::CopyBytes(&value, sizeof(value), lane_.pool)));
    };
    const core::Block told(1, {"lane", "rows"},
                           {TRY(column(lane_.lane_number)), TRY(column(rows_))});
    return told.WithIds(TRY(core::IdColumn({lane_.lane}, lane_.pool)));
  }

  const SaveFormat& format_;
  const LaneContext lane_;
  const std::string path_;
  BlockJoiner joiner_;
  std::unique_ptr<RowsFile> file_;
  int64_t rows_ = 0;
};

absl::StatusOr<core::Spec> InferWritten(const WriteRowsArgs& args,
                                        const SaveFormats& formats,
                                        const core::Spec& in) {
  const SaveFormat& format = *TRY(FindFormat(formats, args.format));
  TRY(format.check(in));
  if (format.numbers_rows(in)) {
    return absl::InvalidArgumentError(base::StrCat(
        args.format,
        " files name their rows by the field __key__, and these have none: a lane does "
        "not know the numbers of its rows among all; add the field with map, or save "
        "in this process"));
  }
  if (args.name.find('/') != std::string::npos) {
    return absl::InvalidArgumentError("argument name must be without a slash");
  }
  return core::Spec(
      {{"lane", core::DType::kInt64, {}}, {"rows", core::DType::kInt64, {}}});
}

OperatorDef DefineWriteRows(const std::shared_ptr<const SaveFormats>& formats) {
  OperatorDef def =
      Define<MadeOfOthers, WriteRowsArgs>("write_rows")
          .Doc(
              "Writes the rows of each lane to a file of its own, and gives one row "
              "for each: the number of the lane, and how many rows it has. The file "
              "appears all at once; one that is there already stays. Saving on a "
              "service is made of it.")
          .Arg("path", &WriteRowsArgs::path,
               "The folder of the files; made where it is missing.", Required(),
               Place())
          .Arg("format", &WriteRowsArgs::format,
               "frames: any rows; arrow, parquet: for other programs too; tar: as "
               "WebDataset has it.")
          .Arg("name", &WriteRowsArgs::name,
               "Stands in the names of the files, behind the number of the lane.",
               Place())
          .Traits({.order_sensitive = true, .changes_cardinality = true, .sinks = true})
          .Infer([formats](const WriteRowsArgs& args, const core::Spec& in) {
            return InferWritten(args, *formats, in);
          })
          .Count([](const WriteRowsArgs&, const ir::Cardinality& in) {
            return in.infinite() ? in : ir::Cardinality::Unknown();
          });
  def.make = [formats](const ir::Arguments& arguments, const LaneContext& lane) {
    const absl::StatusOr<const SaveFormat*> format =
        FindFormat(*formats, arguments["format"].As<std::string>());
    CHECK(format.ok()) << format.status();  // Inferring found it.
    return std::make_unique<WriteRows>(
        WriteRowsArgs{.path = arguments["path"].As<std::string>(),
                      .format = (*format)->name,
                      .name = arguments["name"].As<std::string>()},
        **format, lane);
  };
  return def;
}

}  // namespace

OperatorDef WriteRowsDef() {
  OperatorDef def;
  def.schema.name = "write_rows";
  def.pick = [](const std::shared_ptr<const SaveFormats>& formats,
                OperatorDef& chosen) { chosen = DefineWriteRows(formats); };
  return def;
}

}  // namespace millrace::ops
