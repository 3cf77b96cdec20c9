// Load: what was saved in a folder, in whatever format. It is one of the other sources,
// told by the names of the files (read.cc).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/saved_set.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/read.h"
#include "millrace/storage/glob.h"
#include "millrace/storage/local_files.h"

namespace millrace::ops {
namespace {

struct LoadArgs {
  std::string path;
  std::optional<std::string> fields;
};

absl::StatusOr<ir::Arguments> CompleteLoad(const LoadArgs& args) {
  ir::Arguments found;
  if (args.fields) return found;
  const SavedSet saved = TRY(ReadSavedSet(storage::ProcessFiles(), args.path));
  found.Set("fields", saved.fields);
  return found;
}

absl::StatusOr<core::Spec> InferLoad(const LoadArgs& args, const core::Spec&) {
  absl::StatusOr<core::Spec> spec = core::ParseSpec(args.fields.value_or(""));
  if (!spec.ok()) return base::Annotate(spec.status(), "argument fields");
  return spec;
}

class Load final : public Source {
 public:
  Load(LoadArgs args, const SourcesByEnding& sources, const SourceContext& context)
      : args_(std::move(args)), sources_(sources), context_(context) {}

  absl::StatusOr<lanes::Manifest> List() override {
    const SavedSet saved = TRY(ReadSavedSet(context_.blobs, args_.path));
    if (saved.fields != args_.fields) {
      return absl::FailedPreconditionError(base::StrCat(
          "other rows were saved there since the pipeline was made: ", args_.path,
          " has ", saved.fields, ", not ", *args_.fields, "; make the pipeline anew"));
    }
    ReadArgs read = {.paths = {}, .fields = saved.fields};
    std::map<std::string, int64_t> rows;  // By name: they may be listed in any order.
    for (const SavedFile& file : saved.files) {
      read.paths.push_back(storage::Escape(base::StrCat(args_.path, "/", file.name)));
      rows[file.name] = file.rows;
    }
    source_ = TRY(MakeRead(read, sources_, context_));
    lanes::Manifest manifest = TRY(source_->List());
    for (const lanes::Split& split : manifest.splits) {
      const auto found = rows.find(split.name.substr(split.name.rfind('/') + 1));
      if (found != rows.end()) TRY(CheckRows(found->second, split));
    }
    return manifest;
  }

  bool waits() const override { return source_ == nullptr || source_->waits(); }

  std::string NameOfRow(int64_t split, int64_t row) const override {
    return source_->NameOfRow(split, row);
  }

  absl::StatusOr<std::vector<RowPlace>> PlacesOf(
      int64_t split, absl::Span<const int64_t> rows) const override {
    return source_->PlacesOf(split, rows);
  }

  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override {
    return source_->Open(rows);
  }

 private:
  static absl::Status CheckRows(int64_t saved, const lanes::Split& split) {
    if (split.rows.value_or(saved) == saved) return absl::OkStatus();
    return absl::DataLossError(base::StrCat("file has ", *split.rows, " rows, but ",
                                            saved, " were saved: ", split.name,
                                            "; save it again"));
  }

  const LoadArgs args_;
  const SourcesByEnding& sources_;
  const SourceContext context_;
  std::unique_ptr<Source> source_;
};

OperatorDef DefineLoad(const std::shared_ptr<const SourcesByEnding>& sources) {
  OperatorDef def =
      Define<MadeOfOthers, LoadArgs>("load")
          .Doc(
              "Reads what was saved in a folder, in whatever format, by `millrace "
              "save`.")
          .Arg("path", &LoadArgs::path, "The folder.", Required())
          .Arg("fields", &LoadArgs::fields,
               "The fields of the rows and their types. By default what was saved "
               "says.")
          .CanFail([](const LoadArgs&) { return true; })
          .Complete(CompleteLoad)
          .Infer(InferLoad)
          .Count([](const LoadArgs&, const ir::Cardinality&) {
            return ir::Cardinality::Unknown();
          });
  def.schema.inputs = 0;
  def.schema.traits.source = true;
  def.make_source = [sources](const ir::Arguments& arguments,
                              const SourceContext& context) {
    return std::make_unique<Load>(
        LoadArgs{.path = arguments["path"].As<std::string>(),
                 .fields = arguments["fields"].As<std::string>()},
        *sources, context);
  };
  return def;
}

}  // namespace

OperatorDef LoadDef() {
  OperatorDef def;
  def.schema.name = "load";
  def.choose = [](const std::shared_ptr<const SourcesByEnding>& sources,
                  OperatorDef& chosen) { chosen = DefineLoad(sources); };
  return def;
}

}  // namespace millrace::ops
