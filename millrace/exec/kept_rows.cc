#include "millrace/exec/kept_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/log.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/stage_run.h"
#include "millrace/frames/frame.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/frame_reader.h"
#include "millrace/storage/entries.h"

namespace millrace::exec {
namespace {

class KeptReader final : public ops::Reader {
 public:
  KeptReader(std::shared_ptr<KeptRows> kept, const lanes::RowRange& rows,
             core::Pool& pool)
      : kept_(std::move(kept)),
        key_(kept_->keys[rows.split]),
        frames_({.open = [this] { return kept_->entries->Open(key_); },
                 .waits = kept_->entries->waits()},
                rows, pool) {}

  absl::Status Fetch() override {
    const absl::Status status = frames_.Fetch();
    return status.ok() ? status : Named(status);
  }

  absl::StatusOr<bool> FetchNow() override {
    absl::StatusOr<bool> now = frames_.FetchNow();
    if (!now.ok()) return Named(now.status());
    return now;
  }

  absl::StatusOr<std::optional<core::Block>> Next(ops::BadRows& bad_rows) override {
    absl::StatusOr<std::optional<core::Block>> rows = frames_.Next(bad_rows);
    if (!rows.ok()) return Named(rows.status());
    return rows;
  }

 private:
  // What is damaged is not kept any longer, so that going on computes it.
  absl::Status Named(const absl::Status& why) {
    if (!absl::IsDataLoss(why) && !absl::IsNotFound(why)) return why;
    (void)kept_->entries->Remove(key_);
    return absl::DataLossError(
        base::StrCat("what was kept is damaged: ", base::ToStd(why.message()),
                     "; it was removed: go on from the last state, or start anew, and "
                     "it is computed "
                     "again"));
  }

  const std::shared_ptr<KeptRows> kept_;
  const storage::EntryKey key_;
  ops::FrameReader frames_;
};

}  // namespace

Recorder::Recorder(std::shared_ptr<KeptRows> kept, int64_t split, core::Pool& pool)
    : kept_(std::move(kept)), split_(split), pool_(pool) {}

void Recorder::Add(const Item& item) {
  if (item.left_out) dropped_ = true;
  if (dropped_) {
    writer_ = nullptr;
    return;
  }
  const absl::Status written = Write(item.block);
  if (!written.ok()) GiveUp(written);
}

void Recorder::End() {
  if (dropped_) return;
  absl::Status published = Begin();
  if (published.ok()) published = writer_->Publish();
  if (!published.ok()) GiveUp(published);
  writer_ = nullptr;
}

absl::Status Recorder::Begin() {
  if (writer_ != nullptr) return absl::OkStatus();
  writer_ = TRY(kept_->entries->Create(kept_->keys[split_]));
  return absl::OkStatus();
}

absl::Status Recorder::Write(const core::Block& block) {
  TRY(Begin());
  return writer_->Append(TRY(frames::Encode(block, pool_)));
}

void Recorder::GiveUp(const absl::Status& why) {
  dropped_ = true;
  writer_ = nullptr;
  if (kept_->gave_up.exchange(true)) return;
  base::Log(base::LogLevel::kWarning, "a cache keeps no more rows",
            {{"operator", kept_->name}, {"why", why}});
}

absl::StatusOr<lanes::Manifest> KeptSource::List() {
  return absl::InternalError("a cache lists what it keeps");
}

absl::StatusOr<std::unique_ptr<ops::Reader>> KeptSource::Open(
    const lanes::RowRange& rows) const {
  return std::make_unique<KeptReader>(kept_, rows, pool_);
}

}  // namespace millrace::exec
