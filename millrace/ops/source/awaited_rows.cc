#include "millrace/ops/source/awaited_rows.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/base/bytes.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/define.h"
#include "millrace/ops/saved_set.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/read.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/glob.h"

namespace millrace::ops {
namespace {

using base::literals::operator""_MiB;

constexpr absl::Duration kLook = absl::Milliseconds(20);

// How large a lane's file is said to be: its true size is known too late. As a lane
// gets what a split has, or more, each is one by itself.
constexpr base::Bytes kSplitBytes = 64_MiB;

// A file is replaced while it is read at most so often.
constexpr int kTries = 10;

lanes::Split SplitOf(std::string path) {
  return {.name = std::move(path),
          .bytes = kSplitBytes,
          .version = "",
          .rows = {},
          .seekable = false};
}

// What is being saved: it is written anew every second, perhaps just now.
absl::StatusOr<UnfinishedSet> LookAt(const storage::BlobStore& store,
                                     const std::string& folder) {
  absl::StatusOr<UnfinishedSet> saving;
  for (int i = 0; i < kTries; ++i) {
    saving = ReadUnfinishedSet(store, folder);
    const bool is_there = store.Find(UnfinishedSetPath(folder)).ok();
    if (saving.ok() || !is_there) break;
  }
  return saving;
}

// One lane, once its file is there.
class AwaitedReader final : public Reader {
 public:
  AwaitedReader(const AwaitedRowsArgs& args, std::string path,
                const SourcesByEnding& sources, const SourceContext& context,
                const lanes::RowRange& rows)
      : args_(args),
        path_(std::move(path)),
        sources_(sources),
        context_(context),
        rows_(rows) {}

  absl::Status Fetch() override {
    if (reader_ == nullptr) TRY(Look());
    return reader_ == nullptr ? absl::OkStatus() : reader_->Fetch();
  }

  absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) override {
    if (reader_ == nullptr) return core::Block();
    std::optional<core::Block> block = TRY(reader_->Next(bad_rows));
    if (!block || block->rows() == 0) return block;
    const int64_t begin = std::exchange(rows_.begin, rows_.begin + block->rows());
    return TRY(WithSourceIds(*block, rows_.split, begin, context_));
  }

 private:
  absl::Status Look() {
    absl::StatusOr<storage::BlobInfo> file = context_.blobs.Find(path_);
    if (file.ok()) return Begin();
    if (!absl::IsNotFound(file.status())) return file.status();
    const absl::StatusOr<UnfinishedSet> saving = LookAt(context_.blobs, args_.folder);
    if (absl::IsNotFound(saving.status())) return Ended();
    TRY(saving.status());
    if (!saving->failed.empty()) {
      return absl::FailedPreconditionError(
          base::StrCat("the rows were not saved to their end: ", path_,
                       " is missing; whoever saved them said: ", saving->failed,
                       "; save again, which goes on from there"));
    }
    if (saving->beats != beats_) waited_ = absl::ZeroDuration();
    beats_ = saving->beats;
    if (waited_ > args_.wait) return NobodySaves();
    base::RealClock().WaitFor(kLook, {});
    waited_ += kLook;
    return absl::OkStatus();
  }

  // Whoever saves says that all is there before it says no more.
  absl::Status Ended() {
    if (context_.blobs.Find(path_).ok()) return Begin();
    return absl::FailedPreconditionError(
        base::StrCat("nobody saves there any more, and this was not saved: ", path_,
                     "; save it again"));
  }

  absl::Status NobodySaves() const {
    return absl::FailedPreconditionError(base::StrCat(
        "nothing was seen for ", absl::FormatDuration(args_.wait),
        " of whoever saves there: ", args_.folder, ", and ", path_,
        " is missing; save again, which goes on where it was, or wait for longer"));
  }

  absl::Status Begin() {
    source_ = TRY(MakeRead({.paths = {storage::Escape(path_)}, .fields = args_.fields},
                           sources_, context_));
    const lanes::Manifest manifest = TRY(source_->List());
    const int64_t rows = manifest.splits.at(0).rows.value_or(lanes::kRowsMax);
    const int64_t end = std::min(rows_.end, rows);
    reader_ = TRY(source_->Open({0, std::min(rows_.begin, end), end}));
    return absl::OkStatus();
  }

  const AwaitedRowsArgs& args_;
  const std::string path_;
  const SourcesByEnding& sources_;
  const SourceContext context_;
  lanes::RowRange rows_;
  int64_t beats_ = -1;
  absl::Duration waited_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace

AwaitedRows::AwaitedRows(AwaitedRowsArgs args, const SourcesByEnding& sources,
                         const SourceContext& context)
    : args_(std::move(args)), sources_(sources), context_(context) {}

absl::StatusOr<lanes::Manifest> AwaitedRows::List() {
  lanes::Manifest manifest;
  const auto add = [&](const std::string& name) {
    manifest.splits.push_back(SplitOf(base::StrCat(args_.folder, "/", name)));
  };
  const absl::StatusOr<UnfinishedSet> saving = LookAt(context_.blobs, args_.folder);
  if (saving.ok()) {
    for (int64_t lane = 0; lane < saving->lanes; ++lane) {
      add(SavedFileName(lane, saving->name, saving->ending));
    }
  } else {
    if (!absl::IsNotFound(saving.status())) return saving.status();
    const SavedSet saved = TRY(ReadSavedSet(context_.blobs, args_.folder));
    for (const SavedFile& file : saved.files) add(file.name);
  }
  TRY(Recall(manifest));
  return manifest;
}

absl::Status AwaitedRows::Recall(const lanes::Manifest& listed) {
  for (const lanes::Split& split : listed.splits) paths_.push_back(split.name);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RowPlace>> AwaitedRows::PlacesOf(
    int64_t split, absl::Span<const int64_t> rows) const {
  return PlacesByNumber(paths_[split], rows);
}

absl::StatusOr<std::unique_ptr<Reader>> AwaitedRows::Open(
    const lanes::RowRange& rows) const {
  return std::make_unique<AwaitedReader>(args_, paths_[rows.split], sources_, context_,
                                         rows);
}

}  // namespace millrace::ops
