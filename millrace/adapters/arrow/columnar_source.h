// A source of files of tables: each file is a split, counted by what the file says of
// itself and readable from any row. Parts of files (row groups, record batches) that
// were read last are kept open, so that whoever reads on in one need not decode it
// again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/part.h"
#include "millrace/base/mutex.h"
#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/paths.h"

namespace millrace::arrow {

struct ColumnarArgs {
  std::vector<std::string> paths;
  std::optional<std::vector<std::string>> select;
  std::optional<std::string> fields;
  std::string missing = "error";
  std::vector<std::string> unread;
};

// Gives `fields` as the first file says, where they were left out.
absl::StatusOr<ir::Arguments> CompleteFields(FileFormat format,
                                             const ColumnarArgs& args);

// Gives the spec that `fields` says, without what is unread.
absl::StatusOr<core::Spec> InferFields(const ColumnarArgs& args);

class ColumnarSource : public ops::Source {
 public:
  ColumnarSource(FileFormat format, ColumnarArgs args,
                 const ops::SourceContext& context);

  absl::StatusOr<lanes::Manifest> List() override;
  absl::StatusOr<std::vector<ops::RowPlace>> PlacesOf(
      int64_t split, absl::Span<const int64_t> rows) const override;
  absl::StatusOr<std::unique_ptr<ops::Reader>> Open(
      const lanes::RowRange& rows) const override;

 private:
  class Reader;

  struct File {
    std::shared_ptr<const ColumnarFile> opened;
    WantedLeaves leaves;  // Of all fields, unread ones too.
  };

  // Whether rows have this field.
  bool IsGiven(const Leaf& leaf) const { return !unread_.contains(leaf.spec.name); }

  // The leaves to decode of a part: what rows have, and where a null would make a row
  // wrong.
  WantedLeaves LeavesFor(const File& file, int64_t part) const;

  // The part that a row is in: shared with whoever reads near it, or opened anew where
  // it is not open, or has dropped the row.
  std::shared_ptr<Part> PartFor(int64_t split, int64_t row) const;

  const FileFormat format_;
  const ColumnarArgs args_;
  const ops::SourceContext context_;
  const absl::flat_hash_set<std::string> unread_;
  std::shared_ptr<const core::FieldNames> names_;
  std::vector<File> files_;

  struct Kept {
    int64_t split = 0;
    std::shared_ptr<Part> part;
  };

  mutable base::Mutex mutex_;
  mutable std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // The last used at the end.
};

// Describes such a source, up to its name and its doc.
template <typename Runs>
ops::Definition<Runs, ColumnarArgs> DefineColumnar(const std::string& name,
                                                   FileFormat format) {
  ops::Definition<Runs, ColumnarArgs> definition(name);
  return definition.Arg("paths", &ColumnarArgs::paths, ops::kPathsDoc, ops::Required())
      .Arg("select", &ColumnarArgs::select,
           "The columns to read, as in [\"label\", \"image.bytes\"]; a struct's name "
           "stands for all that is in it. By default all are read.")
      .Arg("fields", &ColumnarArgs::fields,
           "The fields of the rows and their types, as in \"{label: int64}\", in any "
           "order. By default the first file says; others must say the same.")
      .Arg("missing", &ColumnarArgs::missing,
           "What becomes of nulls. \"error\": a row that has one is wrong. "
           "\"default\": they are read as 0, NaN, an empty text or an empty list.")
      .Arg("unread", &ColumnarArgs::unread,
           "Fields that rows need not have: a rewrite names those that nobody reads. "
           "They are read only where they may have nulls that make a row wrong.")
      .CanFail([](const ColumnarArgs&) { return true; })
      .Complete(
          [format](const ColumnarArgs& args) { return CompleteFields(format, args); })
      .Infer(
          [](const ColumnarArgs& args, const core::Spec&) { return InferFields(args); })
      .Count([](const ColumnarArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::arrow
