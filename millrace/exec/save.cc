#include "millrace/exec/save.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/exec/engine.h"
#include "millrace/ops/library.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/saved_set.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/glob.h"

namespace millrace::exec {
namespace {

constexpr char kFileName[] = "rows-%06d";
constexpr char kFilePattern[] = "/rows-[0-9][0-9][0-9][0-9][0-9][0-9]*";

// Writes blocks to one file after another.
class Saver {
 public:
  Saver(const ops::SaveFormat& format, core::Spec spec, const SaveOptions& options)
      : format_(format), spec_(std::move(spec)), options_(options) {}

  absl::Status Append(const core::Block& block) {
    if (file_ == nullptr) TRY(Begin());
    TRY(file_->Append(block));
    saved_.files.back().rows += block.rows();
    rows_ += block.rows();
    return file_->bytes() < options_.file_bytes ? absl::OkStatus() : End();
  }

  absl::StatusOr<Saved> Finish() {
    // What is read again must be told its fields by some file.
    if (file_ == nullptr && saved_.files.empty()) TRY(Begin());
    TRY(End());
    saved_.format = format_.name;
    saved_.fields = format_.read_as(spec_).ToString();
    TRY(ops::WriteSavedSet(options_.store, options_.folder, saved_));
    Saved saved = {.paths = {}, .rows = rows_, .bytes = 0, .facts = {}};
    for (const ops::SavedFile& file : saved_.files) {
      saved.paths.push_back(PathOf(file.name));
      saved.bytes += TRY(options_.store.Find(saved.paths.back())).bytes;
    }
    return saved;
  }

 private:
  std::string PathOf(const std::string& name) const {
    return base::StrCat(options_.folder, "/", name);
  }

  absl::Status Begin() {
    std::string name =
        base::StrCat(absl::StrFormat(kFileName, saved_.files.size()), format_.ending);
    file_ = TRY(
        format_.begin(TRY(options_.store.Create(PathOf(name))),
                      {.spec = spec_, .first_row = rows_, .pool = core::HeapPool()}));
    saved_.files.push_back({.name = std::move(name)});
    return absl::OkStatus();
  }

  absl::Status End() {
    if (file_ == nullptr) return absl::OkStatus();
    TRY(file_->Publish());
    file_ = nullptr;
    return absl::OkStatus();
  }

  const ops::SaveFormat& format_;
  const core::Spec spec_;
  const SaveOptions& options_;
  std::unique_ptr<ops::RowsFile> file_;
  ops::SavedSet saved_;
  int64_t rows_ = 0;
};

// Makes the folder ready: nothing in it may be taken for a part of what will be saved.
absl::Status Clear(const SaveOptions& options) {
  const std::string list = ops::SavedSetPath(options.folder);
  const bool is_there = options.store.Find(list).ok();
  if (is_there && !options.replace) {
    return absl::AlreadyExistsError(
        base::StrCat("something was saved there before: ", options.folder,
                     "; give another folder, or say that it is to be replaced"));
  }
  TRY(options.store.Remove(list));
  const auto old =
      options.store.List({base::StrCat(storage::Escape(options.folder), kFilePattern)});
  if (absl::IsNotFound(old.status())) return absl::OkStatus();
  TRY(old.status());
  for (const storage::BlobInfo& file : *old) TRY(options.store.Remove(file.path));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Saved> Save(Engine& engine, const rewrite::Rewritten& pipeline,
                           const ops::Library& library, const SaveOptions& options) {
  const ops::SaveFormat& format = *TRY(library.FindFormat(options.format));
  const core::Spec& spec = pipeline.before.spec();
  TRY(format.check(spec));
  const std::unique_ptr<Iterator> rows =
      TRY(engine.Open(pipeline, library, options.pass));
  TRY(Clear(options));
  Saver saver(format, spec, options);
  while (const std::optional<core::Block> block = TRY(rows->Next())) {
    TRY(saver.Append(*block));
  }
  Saved saved = TRY(saver.Finish());
  saved.facts = rows->Facts();
  return saved;
}

}  // namespace millrace::exec
