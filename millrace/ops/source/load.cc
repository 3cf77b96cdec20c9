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
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/listing.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/recalled.h"
#include "millrace/ops/saved_set.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/awaited_rows.h"
#include "millrace/ops/source/read.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/glob.h"
#include "millrace/storage/local_files.h"

namespace millrace::ops {
namespace {

struct LoadArgs {
  std::string path;
  std::optional<std::string> fields;
  std::optional<double> wait;
};

// The fields of what was saved, or is being saved.
absl::StatusOr<std::string> FieldsAt(const LoadArgs& args) {
  const storage::BlobStore& store = storage::ProcessFiles();
  const absl::StatusOr<SavedSet> saved = ReadSavedSet(store, args.path);
  if (saved.ok()) return saved->fields;
  if (!args.wait || !absl::IsNotFound(saved.status())) return saved.status();
  absl::StatusOr<UnfinishedSet> saving = ReadUnfinishedSet(store, args.path);
  if (absl::IsNotFound(saving.status())) return saved.status();
  TRY(saving.status());
  return saving->fields;
}

constexpr int64_t kWaitMax = 1'000'000;

absl::StatusOr<ir::Arguments> CompleteLoad(const LoadArgs& args) {
  ir::Arguments found;
  if (args.fields) return found;
  found.Set("fields", TRY(FieldsAt(args)));
  return found;
}

absl::StatusOr<core::Spec> InferLoad(const LoadArgs& args, const core::Spec&) {
  if (args.wait && !(*args.wait >= 0 && *args.wait < kWaitMax)) {
    return absl::InvalidArgumentError(
        base::StrCat("argument wait must be 0 to ", kWaitMax, " seconds"));
  }
  absl::StatusOr<core::Spec> spec = core::ParseSpec(args.fields.value_or(""));
  if (!spec.ok()) return base::Annotate(spec.status(), "argument fields");
  return spec;
}

class Load final : public Source, public Recalls {
 public:
  Load(LoadArgs args, const SourcesByEnding& sources, const SourceContext& context)
      : args_(std::move(args)), sources_(sources), context_(context) {}

  absl::StatusOr<lanes::Manifest> List() override {
    if (args_.wait) return Awaited().List();
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

  absl::Status Recall(const lanes::Manifest& listed) override {
    if (args_.wait) return Awaited().Recall(listed);
    return lanes::CheckSame(listed, TRY(List()));
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
  AwaitedRows& Awaited() {
    auto awaited = std::make_unique<AwaitedRows>(
        AwaitedRowsArgs{.folder = args_.path,
                        .fields = *args_.fields,
                        .wait = absl::Seconds(*args_.wait)},
        sources_, context_);
    AwaitedRows& rows = *awaited;
    source_ = std::move(awaited);
    return rows;
  }

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
          .Arg("wait", &LoadArgs::wait,
               "Read what is still being saved, too, waiting for what is not there "
               "yet; for so many seconds without a sign of whoever saves it. By "
               "default it must be complete.")
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
        LoadArgs{
            .path = arguments["path"].As<std::string>(),
            .fields = arguments["fields"].As<std::string>(),
            .wait = ArgumentTraits<std::optional<double>>::From(arguments["wait"])},
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
