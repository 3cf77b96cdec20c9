#include "millrace/exec/save.h"

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/exec/engine.h"
#include "millrace/ops/block_joiner.h"
#include "millrace/ops/library.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/saved_set.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/storage/blob_store.h"

namespace millrace::exec {
namespace {

// Writes blocks to one file after another.
class Saver {
 public:
  Saver(const ops::SaveFormat& format, core::Spec spec, const SaveOptions& options)
      : format_(format), spec_(std::move(spec)), options_(options) {}

  absl::Status Append(core::Block block) {
    return Write(TRY(joiner_.Add(std::move(block))));
  }

  absl::StatusOr<Saved> Finish() {
    TRY(Write(TRY(joiner_.Rest())));
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
  absl::Status Write(const std::optional<core::Block>& block) {
    if (!block) return absl::OkStatus();
    if (file_ == nullptr) TRY(Begin());
    TRY(file_->Append(*block));
    saved_.files.back().rows += block->rows();
    rows_ += block->rows();
    return file_->bytes() < options_.file_bytes ? absl::OkStatus() : End();
  }

  std::string PathOf(const std::string& name) const {
    return base::StrCat(options_.folder, "/", name);
  }

  absl::Status Begin() {
    std::string name = ops::SavedFileName(std::ssize(saved_.files), "", format_.ending);
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
  ops::BlockJoiner joiner_{core::HeapPool()};
  std::unique_ptr<ops::RowsFile> file_;
  ops::SavedSet saved_;
  int64_t rows_ = 0;
};

}  // namespace

absl::StatusOr<Saved> Save(Engine& engine, const rewrite::Rewritten& pipeline,
                           const ops::Library& library, const SaveOptions& options) {
  const ops::SaveFormat& format = *TRY(library.FindFormat(options.format));
  const core::Spec& spec = pipeline.before.spec();
  TRY(format.check(spec));
  const std::unique_ptr<Iterator> rows =
      TRY(engine.Open(pipeline, library, options.pass));
  TRY(ops::ClearSavedSet(options.store, options.folder, options.replace));
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
