// ReadFiles: whole files, a row each.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/file_source.h"
#include "millrace/ops/source/paths.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {
namespace {

core::Spec FileSpec() {
  return core::Spec(
      {{"path", core::DType::kString, {}}, {"bytes", core::DType::kBytes, {}}});
}

class ReadFiles final : public FileSource {
 public:
  ReadFiles(PathsArgs args, const SourceContext& context)
      : FileSource({.spec = FileSpec(), .bytes = 1, .path = 0}, context),
        args_(std::move(args)) {}

 protected:
  absl::StatusOr<std::vector<WholeFile>> Find() const override {
    std::vector<WholeFile> files;
    for (storage::BlobInfo& info : TRY(context().blobs.List(args_.paths))) {
      files.push_back({.info = std::move(info)});
    }
    return files;
  }

 private:
  const PathsArgs args_;
};

}  // namespace

OperatorDef ReadFilesDef() {
  return Define<ReadFiles, PathsArgs>("read_files")
      .Doc("Reads whole files, a row each, as the fields `path` and `bytes`.")
      .Endings({".gif", ".jpeg", ".jpg", ".png", ".webp"})
      .Arg("paths", &PathsArgs::paths, kPathsDoc, Required())
      .CanFail([](const PathsArgs&) { return true; })
      .Infer([](const PathsArgs& args, const core::Spec&) {
        return SpecOfPaths(args.paths, FileSpec());
      })
      .Count([](const PathsArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
