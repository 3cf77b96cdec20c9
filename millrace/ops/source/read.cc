// Read: files of any kind that their names tell. It is one of the other sources, chosen
// where the pipeline is made.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/decompress.h"
#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/paths.h"

namespace millrace::ops {

OperatorDef ReadCsvDef();
OperatorDef ReadFilesDef();
OperatorDef ReadJsonlDef();
OperatorDef ReadTextDef();
OperatorDef ReadTfrecordDef();

namespace {

struct ReadArgs {
  std::vector<std::string> paths;
  std::optional<std::string> fields;
  std::vector<std::string> columns;
};

struct Ending {
  std::string_view text;
  OperatorDef (*source)();
};

constexpr std::array<Ending, 11> kEndings = {{
    {".csv", ReadCsvDef},
    {".gif", ReadFilesDef},
    {".jpeg", ReadFilesDef},
    {".jpg", ReadFilesDef},
    {".json", ReadJsonlDef},
    {".jsonl", ReadJsonlDef},
    {".ndjson", ReadJsonlDef},
    {".png", ReadFilesDef},
    {".tfrecord", ReadTfrecordDef},
    {".tfrecords", ReadTfrecordDef},
    {".txt", ReadTextDef},
}};

// A path's name without what compression adds to it.
std::string PlainName(std::string_view path) {
  std::string name = absl::AsciiStrToLower(base::ToAbsl(path));
  if (codec::CompressionOfName(name) != codec::Compression::kNone) {
    name.resize(name.rfind('.'));
  }
  return name;
}

absl::StatusOr<OperatorDef> SourceOf(const std::string& path) {
  const std::string name = PlainName(path);
  for (const Ending& ending : kEndings) {
    if (name.ends_with(ending.text)) return ending.source();
  }
  const bool is_tar =
      name.ends_with(".tar") || absl::AsciiStrToLower(path).ends_with(".tgz");
  if (is_tar) {
    return absl::InvalidArgumentError(
        base::StrCat("use read_tar and say which fields to read, for ", path));
  }
  return absl::InvalidArgumentError(base::StrCat(
      "the name does not tell what is in it: ", path,
      "; use read_text, read_jsonl, read_csv, read_tfrecord, read_fixed, read_tar or "
      "read_files"));
}

// The source that the paths tell, ...
absl::StatusOr<OperatorDef> SourceOf(const ReadArgs& args) {
  TRY(SpecOfPaths(args.paths, {}));
  OperatorDef source = TRY(SourceOf(args.paths[0]));
  for (const std::string& path : args.paths) {
    const OperatorDef other = TRY(SourceOf(path));
    if (other.schema.name == source.schema.name) continue;
    return absl::InvalidArgumentError(
        base::StrCat("the files are of different kinds: ", args.paths[0], " is for ",
                     source.schema.name, ", ", path, " for ", other.schema.name));
  }
  return source;
}

bool TakesFields(const OperatorDef& source) {
  return source.schema.name == "read_csv" || source.schema.name == "read_jsonl";
}

// ... and its arguments, with all that the data tells.
absl::StatusOr<ir::Arguments> ArgumentsOf(const ReadArgs& args,
                                          const OperatorDef& source) {
  ir::Arguments given = {{"paths", ir::List(args.paths.begin(), args.paths.end())}};
  if (args.fields) {
    if (!TakesFields(source)) {
      return absl::InvalidArgumentError(base::StrCat(
          source.schema.name, " takes no fields: leave argument fields out"));
    }
    given.Set("fields", *args.fields);
  }
  if (!args.columns.empty()) {
    if (source.schema.name != "read_csv") {
      return absl::InvalidArgumentError(base::StrCat(
          source.schema.name, " takes no columns: leave argument columns out"));
    }
    given.Set("columns", ir::List(args.columns.begin(), args.columns.end()));
  }
  const ir::Arguments checked = TRY(ir::CheckArguments(source.schema.arguments, given));
  return source.schema.complete(checked);
}

absl::StatusOr<ir::Arguments> CompleteRead(const ReadArgs& args) {
  const OperatorDef source = TRY(SourceOf(args));
  if (!TakesFields(source)) return ir::Arguments();
  const ir::Arguments all = TRY(ArgumentsOf(args, source));
  ir::Arguments told = {{"fields", all["fields"]}};
  if (const ir::Value* const columns = all.Find("columns")) {
    told.Set("columns", *columns);
  }
  return told;
}

absl::StatusOr<core::Spec> InferRead(const ReadArgs& args, const core::Spec&) {
  const OperatorDef source = TRY(SourceOf(args));
  const ir::Arguments all = TRY(ArgumentsOf(args, source));
  return source.schema.infer({.arguments = all, .inputs = {}});
}

class Read final : public Source {
 public:
  Read(const ReadArgs& args, const SourceContext& context) {
    const OperatorDef source = *SourceOf(args);
    absl::StatusOr<ir::Arguments> arguments = ArgumentsOf(args, source);
    status_ = arguments.status();
    if (status_.ok()) source_ = source.make_source(*arguments, context);
  }

  absl::StatusOr<lanes::Manifest> List() override {
    TRY(status_);
    return source_->List();
  }

  std::string NameOfRow(int64_t split, int64_t row) const override {
    return source_->NameOfRow(split, row);
  }

  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override {
    return source_->Open(rows);
  }

 private:
  absl::Status status_;  // The files may be gone since the pipeline was made.
  std::unique_ptr<Source> source_;
};

}  // namespace

OperatorDef ReadDef() {
  return Define<Read, ReadArgs>("read")
      .Doc(
          "Reads files as the endings of their names say: .jsonl, .ndjson and .json "
          "(an object on every line), .csv, .tfrecord, .txt, and images as files; each "
          "also compressed, as in .csv.gz.")
      .Arg("paths", &ReadArgs::paths, kPathsDoc, Required())
      .Arg("fields", &ReadArgs::fields,
           "Of JSON and CSV, the fields to read and their types, as in \"{id: int64, "
           "name: string}\". Left out, it is told by the first 1,000 rows.")
      .Arg("columns", &ReadArgs::columns,
           "Of CSV, the names of all columns, in order. Left out, it is told by the "
           "header of the first file.")
      .CanFail([](const ReadArgs&) { return true; })
      .Complete(CompleteRead)
      .Infer(InferRead)
      .Count([](const ReadArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
