// Reads what was saved as frames: files that know their rows, each readable from any
// row on.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/bytes.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/frames/frame.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/define.h"
#include "millrace/ops/recalled.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/frame_reader.h"
#include "millrace/ops/source/paths.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/frame_file.h"
#include "millrace/storage/frame_run.h"
#include "millrace/storage/local_files.h"

namespace millrace::ops {
namespace {

struct ReadFramesArgs {
  std::vector<std::string> paths;
  std::optional<std::string> fields;
};

absl::StatusOr<std::unique_ptr<storage::FrameFile>> OpenFile(
    const storage::BlobStore& store, const storage::BlobInfo& file) {
  return storage::FrameFile::Open(TRY(store.Open(file)));
}

// The first file says what is in all of them.
absl::StatusOr<ir::Arguments> CompleteFrames(const ReadFramesArgs& args) {
  ir::Arguments found;
  if (args.fields) return found;
  TRY(SpecOfPaths(args.paths, {}));
  const storage::BlobStore& store = storage::ProcessFiles();
  const std::vector<storage::BlobInfo> files = TRY(store.List(args.paths));
  found.Set("fields", TRY(OpenFile(store, files.front()))->note());
  return found;
}

absl::StatusOr<core::Spec> InferFrames(const ReadFramesArgs& args, const core::Spec&) {
  absl::StatusOr<core::Spec> spec = core::ParseSpec(args.fields.value_or(""));
  if (!spec.ok()) return base::Annotate(spec.status(), "argument fields");
  return SpecOfPaths(args.paths, *spec);
}

class ReadFrames final : public Source, public Recalls {
 public:
  ReadFrames(ReadFramesArgs args, const SourceContext& context)
      : args_(std::move(args)), context_(context) {}

  absl::StatusOr<lanes::Manifest> List() override {
    spec_ = TRY(InferFrames(args_, {}));
    lanes::Manifest manifest;
    files_ = TRY(context_.blobs.List(args_.paths));
    for (const storage::BlobInfo& info : files_) {
      const std::unique_ptr<storage::FrameFile> file =
          TRY(OpenFile(context_.blobs, info));
      TRY(CheckFits(*file));
      int64_t grain = 1;
      for (const frames::FrameSize& frame : file->frames()) {
        grain = std::max(grain, frame.rows);
      }
      manifest.splits.push_back({.name = info.path,
                                 .bytes = base::Bytes(info.bytes),
                                 .version = info.version,
                                 .rows = file->rows(),
                                 .seekable = true,
                                 .grain = grain});
    }
    return manifest;
  }

  // Whether the fields are the same is looked at as the rows are read.
  absl::Status Recall(const lanes::Manifest& listed) override {
    spec_ = TRY(InferFrames(args_, {}));
    for (const lanes::Split& split : listed.splits) {
      files_.push_back(
          {.path = split.name, .bytes = split.bytes.count(), .version = split.version});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<RowPlace>> PlacesOf(
      int64_t split, absl::Span<const int64_t> rows) const override {
    return PlacesByNumber(files_[split].path, rows);
  }

  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override {
    return std::make_unique<FramesReader>(*this, rows);
  }

 private:
  class FramesReader final : public Reader {
   public:
    FramesReader(const ReadFrames& source, const lanes::RowRange& rows)
        : source_(source),
          split_(rows.split),
          frames_({.open = [this] { return OpenSplit(); }}, rows,
                  source.context_.pool) {}

    absl::Status Fetch() override { return frames_.Fetch(); }

    absl::StatusOr<bool> FetchNow() override { return frames_.FetchNow(); }

    absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) override {
      const int64_t row = frames_.next_row();
      const std::optional<core::Block> block = TRY(frames_.Next(bad_rows));
      if (!block) return std::nullopt;
      const absl::Status admitted = core::CheckAdmits(source_.spec_, *block);
      if (!admitted.ok()) {
        return base::Annotate(admitted, source_.files_[split_].path);
      }
      return WithSourceIds(*block, split_, row, source_.context_);
    }

   private:
    absl::StatusOr<std::unique_ptr<storage::FrameRun>> OpenSplit() const {
      return OpenFile(source_.context_.blobs, source_.files_[split_]);
    }

    const ReadFrames& source_;
    const int64_t split_;
    FrameReader frames_;
  };

  absl::Status CheckFits(const storage::FrameFile& file) const {
    const absl::StatusOr<core::Spec> own = core::ParseSpec(file.note());
    if (own.ok() && *own == spec_) return absl::OkStatus();
    return absl::InvalidArgumentError(base::StrCat(
        "the files do not have the same fields: argument fields says ",
        spec_.ToString(), ", and there is ", file.note(), " in ", file.name()));
  }

  const ReadFramesArgs args_;
  const SourceContext context_;
  core::Spec spec_;
  std::vector<storage::BlobInfo> files_;
};

}  // namespace

OperatorDef ReadFramesDef() {
  return Define<ReadFrames, ReadFramesArgs>("read_frames")
      .Doc(
          "Reads files of frames, as `millrace save` writes them: rows of any type, "
          "as they were in memory.")
      .Arg("paths", &ReadFramesArgs::paths, kPathsDoc, Required())
      .Arg("fields", &ReadFramesArgs::fields,
           "The fields of the rows and their types. By default the first file says; "
           "all must say the same.")
      .Endings({".frames"})
      .Complete(CompleteFrames)
      .Infer(InferFrames)
      .Count([](const ReadFramesArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
