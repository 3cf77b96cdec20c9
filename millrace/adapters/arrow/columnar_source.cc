#include "millrace/adapters/arrow/columnar_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/adapters/arrow/import.h"
#include "millrace/adapters/arrow/part.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/paths.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::arrow {
namespace {

constexpr size_t kPartsKept = 4;
constexpr std::string_view kError = "error";
constexpr std::string_view kDefault = "default";

// Tells whether a column is meant by a name: its own, or that of a struct it is in.
bool IsMeant(std::string_view column, std::string_view name) {
  return column == name || (column.starts_with(name) && column[name.size()] == '.');
}

// The fields of a file that were selected, in the file's order.
absl::StatusOr<core::Spec> Selected(const ColumnarFile& file,
                                    const std::vector<std::string>& select) {
  std::vector<core::FieldSpec> fields;
  const auto meant = [&](std::string_view column) {
    return std::ranges::any_of(
        select, [&](const std::string& name) { return IsMeant(column, name); });
  };
  for (const Leaf& leaf : file.leaves().leaves) {
    if (meant(leaf.spec.name)) fields.push_back(leaf.spec);
  }
  for (const Refused& refused : file.leaves().refused) {
    if (meant(refused.name)) return absl::InvalidArgumentError(refused.why);
  }
  for (const std::string& name : select) {
    if (std::ranges::none_of(fields, [&](const core::FieldSpec& field) {
          return IsMeant(field.name, name);
        })) {
      return absl::InvalidArgumentError(
          base::StrCat("argument select names a column that is not there: ", name,
                       "; there are ", file.leaves().spec().Names()));
    }
  }
  return core::Spec(std::move(fields));
}

absl::StatusOr<core::Spec> AllOf(const ColumnarFile& file) {
  const std::vector<Refused>& refused = file.leaves().refused;
  if (!refused.empty()) {
    return absl::InvalidArgumentError(
        base::StrCat(refused.front().why, "; or leave it out with argument select"));
  }
  return file.leaves().spec();
}

core::Spec Without(const core::Spec& spec, const std::vector<std::string>& names) {
  std::vector<core::FieldSpec> fields;
  for (const core::FieldSpec& field : spec.fields()) {
    if (std::ranges::count(names, field.name) == 0) fields.push_back(field);
  }
  return core::Spec(std::move(fields));
}

// The leaves that hold the fields of a spec. InvalidArgument where a file has them not.
absl::StatusOr<WantedLeaves> FindLeaves(const ColumnarFile& file,
                                        const core::Spec& spec) {
  WantedLeaves leaves;
  for (const core::FieldSpec& field : spec.fields()) {
    const Leaf* const leaf = file.leaves().Find(field.name);
    if (leaf == nullptr) {
      const auto refused =
          std::ranges::find(file.leaves().refused, field.name, &Refused::name);
      const std::string why = refused == file.leaves().refused.end()
                                  ? base::StrCat("there is no field ", field.name)
                                  : refused->why;
      return absl::InvalidArgumentError(base::StrCat(why, "; file ", file.info().path));
    }
    if (leaf->spec != field) {
      return absl::InvalidArgumentError(base::StrCat(
          "the files do not have the same types: argument fields says ",
          core::Spec({field}).ToString(), ", and there is ",
          core::Spec({leaf->spec}).ToString(),
          "; write the files with one schema, or read them by two sources; file ",
          file.info().path));
    }
    leaves.push_back(leaf);
  }
  return leaves;
}

// Slices of a part that somebody will come for.
class Wanted {
 public:
  Wanted(std::shared_ptr<Part> part, int64_t begin, int64_t end)
      : part_(std::move(part)), begin_(begin), end_(end) {
    part_->Want(begin_, end_);
  }

  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;

  ~Wanted() { part_->Unwant(begin_, end_); }

  Part& part() const { return *part_; }

 private:
  const std::shared_ptr<Part> part_;
  const int64_t begin_;
  const int64_t end_;
};

// Rows to be read of one slice.
struct Piece {
  int64_t split = 0;
  int64_t slice = 0;
  int64_t begin = 0;  // In the slice.
  int64_t rows = 0;
  int64_t first_row = 0;  // In the file.
};

}  // namespace

absl::StatusOr<ir::Arguments> CompleteFields(FileFormat format,
                                             const ColumnarArgs& args) {
  ir::Arguments found;
  if (args.fields) return found;
  TRY(ops::SpecOfPaths(args.paths, {}));
  const storage::BlobStore& store = storage::ProcessFiles();
  const std::vector<storage::BlobInfo> files = TRY(store.List(args.paths));
  const auto file = TRY(OpenColumnarFile(format, store, files.front()));
  const core::Spec spec =
      TRY(args.select ? Selected(*file, *args.select) : AllOf(*file));
  found.Set("fields", spec.ToString());
  return found;
}

absl::StatusOr<core::Spec> InferFields(const ColumnarArgs& args) {
  if (args.missing != kError && args.missing != kDefault) {
    return absl::InvalidArgumentError(base::StrCat(
        "argument missing must be \"error\" or \"default\": ", args.missing));
  }
  if (!args.fields) {
    return absl::InvalidArgumentError("argument fields is not known");
  }
  absl::StatusOr<core::Spec> spec = core::ParseSpec(*args.fields);
  if (!spec.ok()) return base::Annotate(spec.status(), "argument fields");
  if (spec->fields().empty()) {
    return absl::InvalidArgumentError("argument fields names no field to read");
  }
  for (const std::string& name : args.unread) {
    if (spec->Find(name) == nullptr) {
      return absl::InvalidArgumentError(
          base::StrCat("argument unread names a field that is not there: ", name));
    }
  }
  return ops::SpecOfPaths(args.paths, Without(*spec, args.unread));
}

ColumnarSource::ColumnarSource(FileFormat format, ColumnarArgs args,
                               const ops::SourceContext& context)
    : format_(format),
      args_(std::move(args)),
      context_(context),
      unread_(args_.unread.begin(), args_.unread.end()) {}

absl::StatusOr<lanes::Manifest> ColumnarSource::List() {
  CHECK(files_.empty()) << "a source is listed once";
  const core::Spec given = TRY(InferFields(args_));
  const core::Spec all = TRY(core::ParseSpec(*args_.fields));
  core::FieldNames names;
  for (const core::FieldSpec& field : given.fields()) names.push_back(field.name);
  names_ = std::make_shared<const core::FieldNames>(std::move(names));
  lanes::Manifest manifest;
  for (const storage::BlobInfo& info : TRY(context_.blobs.List(args_.paths))) {
    File file = {.opened = TRY(OpenColumnarFile(format_, context_.blobs, info)),
                 .leaves = {}};
    file.leaves = TRY(FindLeaves(*file.opened, all));
    manifest.splits.push_back({.name = info.path,
                               .bytes = base::Bytes(info.bytes),
                               .version = info.version,
                               .rows = file.opened->rows(),
                               .seekable = true,
                               .grain = file.opened->part_rows_max()});
    files_.push_back(std::move(file));
  }
  return manifest;
}

WantedLeaves ColumnarSource::LeavesFor(const File& file, int64_t part) const {
  WantedLeaves leaves;
  for (const Leaf* leaf : file.leaves) {
    if (IsGiven(*leaf) ||
        (args_.missing == kError && file.opened->MayHaveNulls(part, leaf->field))) {
      leaves.push_back(leaf);
    }
  }
  return leaves;
}

std::shared_ptr<Part> ColumnarSource::PartFor(int64_t split, int64_t row) const {
  const File& file = files_[split];
  const int64_t number = file.opened->PartOf(row);
  const int64_t row_in_part = row - file.opened->BeginOf(number);
  const base::MutexLock lock(&mutex_);
  auto best = kept_.end();
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    const Part& part = *kept->part;
    if (kept->split != split || part.number() != number) continue;
    if (part.WasDropped(row_in_part / part.slice_rows())) continue;
    // The one that has the least to decode before it comes to the row.
    if (best == kept_.end() || part.position() > best->part->position()) best = kept;
  }
  std::shared_ptr<Part> part;
  if (best != kept_.end()) {
    part = best->part;
    kept_.erase(best);
  } else {
    part = std::make_shared<Part>(file.opened, number, LeavesFor(file, number),
                                  context_.blobs, context_.pool);
  }
  kept_.push_back({.split = split, .part = part});
  if (kept_.size() > kPartsKept) kept_.pop_front();
  return part;
}

class ColumnarSource::Reader final : public ops::FindingReader {
 public:
  Reader(const ColumnarSource& source, const lanes::RowRange& rows)
      : source_(source), rows_(rows) {}

  absl::Status Fetch() override {
    if (ended()) return absl::OkStatus();
    TurnToPart();
    return part_->Fetch();
  }

  absl::StatusOr<bool> FetchNow() override {
    if (ended()) return true;
    TurnToPart();
    return part_->FetchNow();
  }

  absl::StatusOr<std::optional<ops::FoundWork>> Find() override {
    if (ended()) return std::nullopt;
    const ColumnarFile& file = *source_.files_[rows_.split].opened;
    const int64_t row = rows_.begin - file.BeginOf(part_->number());
    const int64_t slice_rows = part_->slice_rows();
    const int64_t slice = row / slice_rows;
    const int64_t end = std::min(
        {rows_.end - rows_.begin + row, file.EndOf(part_->number()) - rows_.begin + row,
         (slice + 1) * slice_rows,
         (row / part_->block_rows() + 1) * part_->block_rows()});
    const Piece piece = {.split = rows_.split,
                         .slice = slice,
                         .begin = row - slice * slice_rows,
                         .rows = end - row,
                         .first_row = rows_.begin};
    rows_.begin += piece.rows;
    auto wanted = std::make_unique<Wanted>(part_, slice, slice + 1);
    return ops::FoundWork(
        [piece, wanted = std::move(wanted), &source = source_](ops::RowsSink& sink) {
          return Make(source, piece, *wanted, sink);
        });
  }

 private:
  bool ended() const { return rows_.begin == rows_.end; }

  void TurnToPart() {
    const ColumnarFile& file = *source_.files_[rows_.split].opened;
    const int64_t number = file.PartOf(rows_.begin);
    if (part_ != nullptr && part_->number() == number) return;
    part_ = source_.PartFor(rows_.split, rows_.begin);
    const int64_t first = file.BeginOf(number);
    const int64_t end = std::min(rows_.end, file.EndOf(number));
    wanted_ =
        std::make_unique<Wanted>(part_, (rows_.begin - first) / part_->slice_rows(),
                                 (end - first - 1) / part_->slice_rows() + 1);
  }

  // What is wrong with the file is wrong with all rows of the piece.
  static absl::Status Make(const ColumnarSource& source, const Piece& piece,
                           const Wanted& wanted, ops::RowsSink& sink) {
    const absl::StatusOr<std::shared_ptr<const Slice>> slice =
        SliceOf(source, piece, wanted.part());
    if (absl::IsDataLoss(slice.status())) {
      return sink.LeaveOut({.why = slice.status(), .rows = piece.rows});
    }
    TRY(slice.status());
    return GiveRows(source, piece, {wanted.part().leaves(), **slice}, sink);
  }

  // Where others had it dropped, the part is read again.
  static absl::StatusOr<std::shared_ptr<const Slice>> SliceOf(
      const ColumnarSource& source, const Piece& piece, Part& part) {
    std::shared_ptr<const Slice> slice = TRY(part.Take(piece.slice, piece.rows));
    while (slice == nullptr) {
      const std::shared_ptr<Part> anew = source.PartFor(piece.split, piece.first_row);
      const Wanted wanted(anew, piece.slice, piece.slice + 1);
      TRY(anew->Fetch());
      slice = TRY(anew->Take(piece.slice, piece.rows));
    }
    return slice;
  }

  // A slice, and what is in it.
  struct Decoded {
    const WantedLeaves& leaves;
    const Slice& slice;
  };

  // Gives the rows between those that are wrong.
  static absl::Status GiveRows(const ColumnarSource& source, const Piece& piece,
                               const Decoded& decoded, ops::RowsSink& sink) {
    int64_t given = 0;
    const auto give = [&](int64_t end) -> absl::Status {
      const int64_t begin = std::exchange(given, end);
      if (begin == end) return absl::OkStatus();
      std::vector<core::Column> columns;
      columns.reserve(source.names_->size());
      for (size_t i = 0; i < decoded.slice.size(); ++i) {
        if (!source.IsGiven(*decoded.leaves[i])) continue;
        const core::Column& column = decoded.slice[i].column;
        columns.push_back(column.Slice(piece.begin + begin, end - begin));
      }
      const core::Block block(end - begin, source.names_, std::move(columns));
      return sink.Give(TRY(ops::WithSourceIds(
          block, piece.split, piece.first_row + begin, source.context_)));
    };
    for (const NullRow& null : NullRows(source, piece, decoded.slice)) {
      TRY(give(null.row));
      const Leaf& leaf = *decoded.leaves[null.field];
      TRY(sink.LeaveOut({.why = NullError(source, piece, null.row, leaf)}));
      given = null.row + 1;
    }
    return give(piece.rows);
  }

  // A row that has a null, and its first field that has one.
  struct NullRow {
    int64_t row = 0;  // In the piece.
    size_t field = 0;
  };

  static std::vector<NullRow> NullRows(const ColumnarSource& source, const Piece& piece,
                                       const Slice& slice) {
    std::vector<NullRow> rows;
    const bool any = std::ranges::any_of(
        slice, [](const Imported& imported) { return !imported.nulls.empty(); });
    if (!any || source.args_.missing == kDefault) return rows;
    for (int64_t row = 0; row < piece.rows; ++row) {
      const auto field = std::ranges::find_if(slice, [&](const Imported& imported) {
        return !imported.nulls.empty() && imported.nulls[piece.begin + row] != 0;
      });
      if (field != slice.end()) {
        rows.push_back({row, static_cast<size_t>(field - slice.begin())});
      }
    }
    return rows;
  }

  static absl::Status NullError(const ColumnarSource& source, const Piece& piece,
                                int64_t row, const Leaf& leaf) {
    return absl::DataLossError(base::StrCat(
        "field ", leaf.spec.name, " of row ", piece.first_row + row,
        " is null, or has a null in it; read it as a default with "
        "missing=\"default\", or leave the row out with ignore_errors; file ",
        source.files_[piece.split].opened->info().path));
  }

  const ColumnarSource& source_;
  lanes::RowRange rows_;  // Still to be found.
  std::shared_ptr<Part> part_;
  std::unique_ptr<Wanted> wanted_;  // Of all the range's rows in the part.
};

absl::StatusOr<std::vector<ops::RowPlace>> ColumnarSource::PlacesOf(
    int64_t split, absl::Span<const int64_t> rows) const {
  return ops::PlacesByNumber(files_[split].opened->info().path, rows);
}

absl::StatusOr<std::unique_ptr<ops::Reader>> ColumnarSource::Open(
    const lanes::RowRange& rows) const {
  CHECK(rows.split >= 0 && rows.split < std::ssize(files_)) << "no such split";
  CHECK(rows.begin >= 0 && rows.begin <= rows.end);
  CHECK_LE(rows.end, files_[rows.split].opened->rows());
  return std::make_unique<Reader>(*this, rows);
}

}  // namespace millrace::arrow
