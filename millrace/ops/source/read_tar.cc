// ReadTar: the rows of tar files, as WebDataset writes them.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/paths.h"
#include "millrace/ops/source/scan_source.h"
#include "millrace/ops/source/tar_fields.h"
#include "millrace/ops/source/tar_types.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/tar.h"

namespace millrace::ops {
namespace {

struct ReadTarArgs {
  std::vector<std::string> paths;
  std::vector<std::string> fields;
};

// The fields that are members of the tar: the key is none, and always there.
std::vector<std::string> MembersOf(const ReadTarArgs& args) {
  std::vector<std::string> members = args.fields;
  std::erase(members, kTarKey);
  return members;
}

core::Spec RowSpec(const ReadTarArgs& args) {
  std::vector<core::FieldSpec> fields;
  for (const std::string& field : MembersOf(args)) {
    fields.push_back({field, TarTypeOf(field), {}});
  }
  fields.push_back({std::string(kTarKey), core::DType::kString, {}});
  return core::Spec(std::move(fields));
}

absl::StatusOr<core::Spec> InferTar(const ReadTarArgs& args, const core::Spec&) {
  for (const std::string& field : args.fields) {
    TRY(core::CheckFieldName(field));
    if (std::ranges::count(args.fields, field) > 1) {
      return absl::InvalidArgumentError(
          base::StrCat("argument fields names one twice: ", field));
    }
    if (absl::AsciiStrToLower(field) != field) {
      return absl::InvalidArgumentError(base::StrCat(
          "argument fields must be in lower case, as WebDataset's are: ", field));
    }
  }
  return SpecOfPaths(args.paths, RowSpec(args));
}

// Of all members that the first row has.
absl::StatusOr<core::Spec> TellFields(const std::vector<std::string>& paths) {
  return RowSpec({.paths = paths, .fields = TRY(ReadTarFields(paths))});
}

class ReadTar final : public ScanSource {
 public:
  ReadTar(const ReadTarArgs& args, const SourceContext& context)
      : ScanSource(args.paths,
                   {.format = storage::RowFormat::kTar,
                    .spec = RowSpec(args),
                    .has_key = true,
                    .make_scanner =
                        [members = MembersOf(args)](int64_t offset) {
                          return std::make_unique<storage::TarScanner>(
                              storage::TarOptions{.offset = offset, .fields = members});
                        }},
                   context) {}
};

}  // namespace

OperatorDef ReadTarDef() {
  return Define<ReadTar, ReadTarArgs>("read_tar")
      .Doc(
          "Reads tar files in WebDataset's layout: neighbours that share a name up to "
          "its first dot are one row, what follows the dot is the field. Fields `cls` "
          "and `index` are int64, `txt` is a string, others are bytes; the shared "
          "name is the field `__key__`.")
      .Endings({".tar"})
      .TellFields(TellFields)
      .Arg("paths", &ReadTarArgs::paths, kPathsDoc, Required())
      .Arg("fields", &ReadTarArgs::fields,
           "The fields to read, as in [\"jpg\", \"cls\"]; others are passed over.",
           Required())
      .CanFail([](const ReadTarArgs&) { return true; })
      .Infer(InferTar)
      .Count([](const ReadTarArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
