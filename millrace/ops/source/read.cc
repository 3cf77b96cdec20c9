// Read: files of any kind that their names tell. It is one of the library's other
// sources, chosen where the pipeline is made.

#include "millrace/ops/source/read.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/decompress.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/paths.h"

namespace millrace::ops {
namespace {

using SharedSources = std::shared_ptr<const SourcesByEnding>;

// A path's name without what compression adds to it.
std::string PlainName(std::string_view path) {
  std::string name = absl::AsciiStrToLower(base::ToAbsl(path));
  const bool is_tar = name.ends_with(".tgz") || name.ends_with(".tzst");
  if (codec::CompressionOfName(name) != codec::Compression::kNone) {
    name.resize(name.rfind('.'));
  }
  return is_tar ? name + ".tar" : name;
}

absl::StatusOr<const OperatorDef*> SourceOf(const std::string& path,
                                            const SourcesByEnding& sources) {
  const std::string name = PlainName(path);
  std::set<std::string> names;
  for (const auto& [ending, source] : sources) {
    if (name.ends_with(ending)) return &source;
    names.insert(source.schema.name);
  }
  return absl::InvalidArgumentError(
      base::StrCat("the name does not tell what is in it: ", path, "; use ",
                   absl::StrJoin(names, ", "), " or read_fixed"));
}

// The source that the paths tell, ...
absl::StatusOr<const OperatorDef*> SourceOf(const ReadArgs& args,
                                            const SourcesByEnding& sources) {
  TRY(SpecOfPaths(args.paths, {}));
  const OperatorDef* const source = TRY(SourceOf(args.paths[0], sources));
  for (const std::string& path : args.paths) {
    const OperatorDef* const other = TRY(SourceOf(path, sources));
    if (other->schema.name == source->schema.name) continue;
    return absl::InvalidArgumentError(
        base::StrCat("the files are of different kinds: ", args.paths[0], " is for ",
                     source->schema.name, ", ", path, " for ", other->schema.name));
  }
  return source;
}

absl::Status CheckTakes(const OperatorDef& source, std::string_view argument) {
  const auto takes = [&](const ir::ArgumentSchema& one) {
    return one.name == argument;
  };
  if (std::ranges::any_of(source.schema.arguments, takes)) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(source.schema.name, " takes no ",
                                                 argument, ": leave argument ",
                                                 argument, " out"));
}

// The fields of a source that takes their names alone.
absl::StatusOr<core::Spec> NamedFields(const ReadArgs& args,
                                       const OperatorDef& source) {
  if (!args.fields) return source.tell_fields(args.paths);
  absl::StatusOr<core::Spec> fields = core::ParseSpec(*args.fields);
  return fields.ok() ? fields : base::Annotate(fields.status(), "argument fields");
}

// ... and its arguments, with all that the data tells.
absl::StatusOr<ir::Arguments> ArgumentsOf(const ReadArgs& args,
                                          const OperatorDef& source) {
  ir::Arguments given = {{"paths", ir::List(args.paths.begin(), args.paths.end())}};
  if (args.fields) {
    TRY(CheckTakes(source, "fields"));
    given.Set("fields", *args.fields);
  }
  if (source.tell_fields) {
    ir::List names;
    const core::Spec fields = TRY(NamedFields(args, source));
    for (const core::FieldSpec& field : fields.fields()) names.emplace_back(field.name);
    given.Set("fields", std::move(names));
  }
  if (!args.columns.empty()) {
    TRY(CheckTakes(source, "columns"));
    given.Set("columns", ir::List(args.columns.begin(), args.columns.end()));
  }
  const ir::Arguments checked = TRY(ir::CheckArguments(source.schema.arguments, given));
  return source.schema.complete(checked);
}

absl::StatusOr<ir::Arguments> CompleteRead(const ReadArgs& args,
                                           const SourcesByEnding& sources) {
  const OperatorDef* const source = TRY(SourceOf(args, sources));
  if (!CheckTakes(*source, "fields").ok()) return ir::Arguments();
  if (source->tell_fields) {
    return ir::Arguments{{"fields", TRY(NamedFields(args, *source)).ToString()}};
  }
  const ir::Arguments all = TRY(ArgumentsOf(args, *source));
  ir::Arguments told = {{"fields", all["fields"]}};
  if (const ir::Value* const columns = all.Find("columns")) {
    told.Set("columns", *columns);
  }
  return told;
}

// A source that takes names alone has its own types for them.
absl::Status CheckTypes(const core::Spec& wanted, const core::Spec& rows,
                        const OperatorDef& source) {
  for (const core::FieldSpec& field : wanted.fields()) {
    const core::FieldSpec* const found = rows.Find(field.name);
    const bool fits =
        found != nullptr && found->dtype == field.dtype && found->shape == field.shape;
    if (fits) continue;
    return absl::InvalidArgumentError(
        base::StrCat("argument fields must have the types of ", source.schema.name,
                     ", which gives ", rows.ToString()));
  }
  return absl::OkStatus();
}

absl::StatusOr<core::Spec> InferRead(const ReadArgs& args,
                                     const SourcesByEnding& sources) {
  const OperatorDef* const source = TRY(SourceOf(args, sources));
  const ir::Arguments all = TRY(ArgumentsOf(args, *source));
  core::Spec rows = TRY(source->schema.infer({.arguments = all, .inputs = {}}));
  if (source->tell_fields) {
    TRY(CheckTypes(TRY(NamedFields(args, *source)), rows, *source));
  }
  return rows;
}

// Says, wherever it is used, that its files are gone since the pipeline was made.
class NoSource final : public Source {
 public:
  explicit NoSource(absl::Status why) : why_(std::move(why)) {}

  absl::StatusOr<lanes::Manifest> List() override { return why_; }

  absl::StatusOr<std::unique_ptr<Reader>> Open(const lanes::RowRange&) const override {
    return why_;
  }

 private:
  const absl::Status why_;
};

ReadArgs ArgsOf(const ir::Arguments& arguments) {
  using Texts = ArgumentTraits<std::vector<std::string>>;
  return {
      .paths = Texts::From(arguments["paths"]),
      .fields = ArgumentTraits<std::optional<std::string>>::From(arguments["fields"]),
      .columns = Texts::From(arguments["columns"])};
}

OperatorDef DefineRead(const SharedSources& sources) {
  OperatorDef def =
      Define<MadeOfOthers, ReadArgs>("read")
          .Doc(
              "Reads files as the endings of their names say: .jsonl, .ndjson and "
              ".json (an object on every line), .csv, .tfrecord, .txt, .tar, .parquet, "
              ".arrow and .feather, and images as files; lines, records and tar files "
              "also compressed, as in .csv.gz.")
          .Arg("paths", &ReadArgs::paths, kPathsDoc, Required())
          .Arg("fields", &ReadArgs::fields,
               "Of files that have several, the fields to read and their types, as in "
               "\"{id: int64, name: string}\". Left out, it is told by the data: of "
               "JSON and CSV by the first 1,000 rows, of tar files by the first.")
          .Arg("columns", &ReadArgs::columns,
               "Of CSV, the names of all columns, in order. Left out, it is told by "
               "the header of the first file.")
          .CanFail([](const ReadArgs&) { return true; })
          .Complete(
              [sources](const ReadArgs& args) { return CompleteRead(args, *sources); })
          .Infer([sources](const ReadArgs& args, const core::Spec&) {
            return InferRead(args, *sources);
          })
          .Count([](const ReadArgs&, const ir::Cardinality&) {
            return ir::Cardinality::Unknown();
          });
  def.schema.inputs = 0;
  def.schema.traits.source = true;
  def.make_source = [sources](const ir::Arguments& arguments,
                              const SourceContext& context) {
    absl::StatusOr<std::unique_ptr<Source>> source =
        MakeRead(ArgsOf(arguments), *sources, context);
    if (source.ok()) return *std::move(source);
    return std::unique_ptr<Source>(std::make_unique<NoSource>(source.status()));
  };
  return def;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> MakeRead(const ReadArgs& args,
                                                 const SourcesByEnding& sources,
                                                 const SourceContext& context) {
  const OperatorDef* const source = TRY(SourceOf(args, sources));
  return source->make_source(TRY(ArgumentsOf(args, *source)), context);
}

OperatorDef ReadDef() {
  OperatorDef def;
  def.schema.name = "read";
  def.choose = [](const SharedSources& sources, OperatorDef& chosen) {
    chosen = DefineRead(sources);
  };
  return def;
}

}  // namespace millrace::ops
