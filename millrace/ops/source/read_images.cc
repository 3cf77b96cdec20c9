// ReadImages: images in folders, one folder a class.

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
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
#include "millrace/ops/source/file_source.h"
#include "millrace/ops/source/paths.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/glob.h"

namespace millrace::ops {
namespace {

// What is taken of a folder; a pattern takes whatever it matches.
constexpr std::array<std::string_view, 9> kImageEndings = {
    ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm"};

core::Spec ImageSpec() {
  return core::Spec({{"image", core::DType::kBytes, {}},
                     {"label", core::DType::kInt64, {}},
                     {"path", core::DType::kString, {}}});
}

bool IsImage(const storage::BlobInfo& file) {
  const std::string lower = absl::AsciiStrToLower(file.path);
  return std::ranges::any_of(
      kImageEndings, [&](std::string_view ending) { return lower.ends_with(ending); });
}

std::string ClassOf(const storage::BlobInfo& file) {
  return std::filesystem::path(file.path).parent_path().filename().string();
}

// A class is numbered by its place among the names of all classes, sorted.
std::vector<WholeFile> WithLabels(std::vector<storage::BlobInfo> files) {
  std::map<std::string, int64_t> labels;
  for (const storage::BlobInfo& file : files) labels[ClassOf(file)] = 0;
  for (int64_t next = 0; auto& [name, label] : labels) label = next++;
  std::vector<WholeFile> labelled;
  labelled.reserve(files.size());
  for (storage::BlobInfo& file : files) {
    const int64_t label = labels[ClassOf(file)];
    labelled.push_back({.info = std::move(file), .label = label});
  }
  return labelled;
}

class ReadImages final : public FileSource {
 public:
  ReadImages(PathsArgs args, const SourceContext& context)
      : FileSource({.spec = ImageSpec(), .bytes = 0, .path = 2, .label = 1}, context),
        args_(std::move(args)) {}

 protected:
  absl::StatusOr<std::vector<WholeFile>> Find() const override {
    std::vector<storage::BlobInfo> files;
    for (const std::string& path : args_.paths) {
      for (storage::BlobInfo& file : TRY(FindBelow(path))) {
        files.push_back(std::move(file));
      }
    }
    std::ranges::sort(files, {}, &storage::BlobInfo::path);
    const auto same = std::ranges::unique(files, {}, &storage::BlobInfo::path);
    files.erase(same.begin(), same.end());
    return WithLabels(std::move(files));
  }

 private:
  // The files of a pattern, or the images in the folders of a folder.
  absl::StatusOr<std::vector<storage::BlobInfo>> FindBelow(
      const std::string& path) const {
    const storage::BlobStore& blobs = context().blobs;
    const bool is_folder = storage::IsPlainPath(path) &&
                           absl::IsInvalidArgument(blobs.Find(path).status());
    if (!is_folder) return blobs.List({path});
    std::vector<storage::BlobInfo> files =
        TRY(blobs.List({base::StrCat(path, "/*/*")}));
    std::erase_if(files, [](const auto& file) { return !IsImage(file); });
    if (!files.empty()) return files;
    return absl::NotFoundError(base::StrCat(
        "no image is in the folders of: ", path,
        "; it should hold a folder for each class, with .jpg, .png or such in it"));
  }

  const PathsArgs args_;
};

}  // namespace

OperatorDef ReadImagesDef() {
  return Define<ReadImages, PathsArgs>("read_images")
      .Doc(
          "Reads images that are sorted into folders, one folder a class, as the "
          "fields `image` (the file's bytes), `label` (the number of the class, by "
          "the sorted names of all) and `path`.")
      .Arg("paths", &PathsArgs::paths,
           "Folders that hold a folder for each class, or patterns such as "
           "train/*/*.jpg.",
           Required())
      .CanFail([](const PathsArgs&) { return true; })
      .Infer([](const PathsArgs& args, const core::Spec&) {
        return SpecOfPaths(args.paths, ImageSpec());
      })
      .Count([](const PathsArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
