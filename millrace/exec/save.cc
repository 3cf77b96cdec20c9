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

  // Short blocks are joined: each costs something in a file.
  absl::Status Append(core::Block block) {
    waiting_rows_ += block.rows();
    waiting_bytes_ += block.content_bytes();
    waiting_.push_back(std::move(block));
    const bool enough = waiting_rows_ >= kRowsWanted || waiting_bytes_ >= kBytesWanted;
    return enough ? WriteWaiting() : absl::OkStatus();
  }

  absl::StatusOr<Saved> Finish() {
    TRY(WriteWaiting());
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
  static constexpr int64_t kRowsWanted = 1024;
  static constexpr int64_t kBytesWanted = int64_t{1} << 20;

  absl::Status WriteWaiting() {
    if (waiting_.empty()) return absl::OkStatus();
    const core::Block block = waiting_.size() == 1
                                  ? waiting_[0]
                                  : TRY(core::Concatenate(waiting_, core::HeapPool()));
    waiting_.clear();
    waiting_rows_ = waiting_bytes_ = 0;
    if (file_ == nullptr) TRY(Begin());
    TRY(file_->Append(block));
    saved_.files.back().rows += block.rows();
    rows_ += block.rows();
    return file_->bytes() < options_.file_bytes ? absl::OkStatus() : End();
  }

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
  std::vector<core::Block> waiting_;
  int64_t waiting_rows_ = 0;
  int64_t waiting_bytes_ = 0;
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
  int64_t done = 0;
  if (options.interrupt) rows->SetInterrupt([&] { return options.interrupt(done); });
  while (std::optional<core::Block> block = TRY(rows->Next())) {
    done += block->rows();
    TRY(saver.Append(*std::move(block)));
    if (options.interrupt && options.interrupt(done)) {
      return absl::AbortedError("interrupted");
    }
  }
  Saved saved = TRY(saver.Finish());
  saved.facts = rows->Facts();
  return saved;
}

}  // namespace millrace::exec
