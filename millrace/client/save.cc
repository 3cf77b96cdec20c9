#include "millrace/client/save.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

#include "millrace/api/save_state.h"
#include "millrace/api/state.h"
#include "millrace/base/clock.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/client/consumer.h"
#include "millrace/client/interruptible.h"
#include "millrace/client/save_state.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/saved_set.h"
#include "millrace/storage/blob_store.h"

namespace millrace::client {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);
constexpr absl::Duration kBeatEvery = absl::Seconds(1);
constexpr int64_t kLanesMax = 1'000'000;  // Names of files are in order.
// Noting how far it is takes at most this part of the time.
constexpr int kNoteParts = 20;

std::string DrawnName() {
  std::random_device device;
  return absl::StrFormat("%08x", device());
}

int64_t DrawnSeed() {
  std::random_device device;
  return static_cast<int64_t>(device());
}

class Saving {
 public:
  Saving(ir::Pipeline pipeline, const SaveOptions& options)
      : pipeline_(std::move(pipeline)),
        options_(options),
        library_(options.service.library == nullptr ? ops::DefaultLibrary()
                                                    : *options.service.library) {}

  absl::StatusOr<SaveProgress> Run() {
    format_ = TRY(library_.FindFormat(options_.format));
    TRY(Check());
    TRY(Begin());
    const absl::Status saved = Drive();
    if (!saved.ok()) return Failed(saved);
    TRY(Finish());
    return progress_;
  }

 private:
  absl::Status Check() const;
  absl::Status Begin();
  absl::Status GoOn(api::SaveState state);
  absl::Status CheckNobodyDrives() const;
  absl::StatusOr<ir::Pipeline> Written() const;
  ConsumerOptions JobOptions() const;
  absl::Status Drive();
  absl::Status Take(const core::Block& told);
  absl::Status TakeLane(int64_t lane, int64_t rows);
  absl::Status Note();
  absl::Status NoteIfDue();
  absl::Status Failed(const absl::Status& status);
  absl::Status WriteEmptyFile();
  absl::Status Finish();

  bool interrupted() const {
    return options_.interrupt && options_.interrupt(progress_);
  }

  std::string NameOf(int64_t lane) const {
    return ops::SavedFileName(lane, state_.name, format_->ending);
  }

  const ir::Pipeline pipeline_;
  const SaveOptions& options_;
  const ops::Library& library_;
  const ops::SaveFormat* format_ = nullptr;
  api::SaveState state_;
  std::map<int64_t, api::SavedLane> lanes_;  // That are there.
  bool missed_ = false;                      // Some were told that are not among these.
  SaveProgress progress_;
  ops::UnfinishedSet told_;
  std::unique_ptr<Consumer> consumer_;
  absl::Time note_at_ = absl::InfinitePast();
};

// --- Beginning ---

absl::Status Saving::Check() const {
  if (pipeline_.cardinality().infinite()) {
    return absl::InvalidArgumentError(
        "a pipeline without end cannot be saved: there is no last row; put take behind "
        "repeat, or give it a count");
  }
  return Written().status();
}

absl::Status Saving::Begin() {
  const std::string fingerprint = base::ToHex(pipeline_.fingerprint());
  if (!options_.replace &&
      !options_.store.Find(ops::SavedSetPath(options_.folder)).ok()) {
    std::optional<api::SaveState> begun =
        TRY(ReadSaveState(options_.store, options_.folder));
    if (begun) return GoOn(*std::move(begun));
  }
  TRY(ops::ClearSavedSet(options_.store, options_.folder, options_.replace));
  state_ = {.name = DrawnName(),
            .pipeline = fingerprint,
            .format = format_->name,
            .seed = options_.seed.value_or(DrawnSeed())};
  return WriteSaveState(options_.store, options_.folder, state_);
}

absl::Status Saving::GoOn(api::SaveState state) {
  const auto differs = [&](const auto&... how) {
    return absl::AlreadyExistsError(
        base::StrCat("something else was begun to be saved there: ", options_.folder,
                     " has ", how...,
                     "; go on with that, give another folder, or say that it is to be "
                     "replaced"));
  };
  if (state.pipeline != base::ToHex(pipeline_.fingerprint())) {
    return differs("rows of another pipeline");
  }
  if (state.format != format_->name) return differs("files of format ", state.format);
  const bool draws = pipeline_.IsRandom() && options_.seed;
  if (draws && *options_.seed != state.seed) return differs("the seed ", state.seed);
  TRY(CheckNobodyDrives());
  state_ = std::move(state);
  for (const api::SavedLane& lane : state_.lanes) {
    lanes_[lane.lane] = lane;
    progress_.rows += lane.rows;
    progress_.bytes += lane.bytes;
  }
  progress_.done = progress_.before = std::ssize(lanes_);
  return absl::OkStatus();
}

// Who drives a save shows it every second, until it fails.
absl::Status Saving::CheckNobodyDrives() const {
  const auto look = [&] {
    return ops::ReadUnfinishedSet(options_.store, options_.folder);
  };
  const absl::StatusOr<ops::UnfinishedSet> first = look();
  if (!first.ok() || !first->failed.empty()) return absl::OkStatus();
  const absl::Time deadline = base::RealClock().Now() + options_.listen;
  while (base::RealClock().Now() < deadline) {
    if (interrupted()) return absl::CancelledError("interrupted");
    base::RealClock().WaitFor(kLook, options_.service.stop);
    const absl::StatusOr<ops::UnfinishedSet> now = look();
    if (!now.ok() || now->beats == first->beats) continue;
    return absl::FailedPreconditionError(
        base::StrCat("another process is saving there: ", options_.folder,
                     "; wait for it to end, or give another folder"));
  }
  return absl::OkStatus();
}

// --- Running ---

absl::StatusOr<ir::Pipeline> Saving::Written() const {
  ir::Arguments arguments;
  arguments.Set("path", options_.folder);
  arguments.Set("format", options_.format);
  arguments.Set("name", state_.name);
  return ir::Pipeline::Make(library_.catalog(), "write_rows", arguments, {pipeline_});
}

ConsumerOptions Saving::JobOptions() const {
  ConsumerOptions job = options_.service;
  job.settings.name = base::StrCat("save-", state_.name, " ", options_.folder);
  job.settings.order = "any";
  job.settings.seed = state_.seed;
  job.one_pass = true;
  job.run.id = base::StrCat(job.settings.name, "-", DrawnName());
  job.takeover = true;  // Whoever drove it before does no more.
  return job;
}

absl::Status Saving::Drive() {
  ConsumerOptions job = JobOptions();
  if (!state_.state.empty()) job.state = TRY(api::StateFromJson(state_.state));
  const ir::Pipeline written = TRY(Written());
  consumer_ = TRY(OpenInterruptibly(written, job, [this] { return interrupted(); }));
  progress_.lanes = consumer_->job().facts.lanes;
  if (progress_.lanes > kLanesMax) {
    return absl::InvalidArgumentError(base::StrCat(
        "a save may have ", kLanesMax, " lanes, and this has ", progress_.lanes,
        ": save parts of the data to folders of their own"));
  }
  told_ = {.format = format_->name,
           .fields = format_->read_as(pipeline_.spec()).ToString(),
           .name = state_.name,
           .ending = format_->ending,
           .lanes = progress_.lanes};
  TRY(Note());
  while (true) {
    absl::StatusOr<std::optional<core::Block>> told =
        consumer_->Next(base::RealClock().Now() + kLook);
    const bool waits = absl::IsDeadlineExceeded(told.status());
    if (!waits) TRY(told.status());
    if (!waits && !told->has_value()) return absl::OkStatus();
    if (!waits) TRY(Take(**told));
    if (interrupted()) return absl::CancelledError("interrupted");
    TRY(NoteIfDue());
  }
}

// What was told and could not be noted is told again to whoever goes on.
absl::Status Saving::Take(const core::Block& told) {
  missed_ = true;
  for (int64_t row = 0; row < told.rows(); ++row) {
    const core::Tensor lane = TRY(told.Find("lane")->Row(row));
    const core::Tensor rows = TRY(told.Find("rows")->Row(row));
    TRY(TakeLane(lane.As<int64_t>()[0], rows.As<int64_t>()[0]));
  }
  missed_ = false;
  return absl::OkStatus();
}

absl::Status Saving::TakeLane(int64_t lane, int64_t rows) {
  const std::string path = base::StrCat(options_.folder, "/", NameOf(lane));
  const absl::StatusOr<storage::BlobInfo> file = options_.store.Find(path);
  if (absl::IsNotFound(file.status())) {
    return absl::FailedPreconditionError(base::StrCat(
        "a worker has written ", path,
        ", and this process does not see it: save to a folder that all workers and "
        "this process share, by the same path"));
  }
  TRY(file.status());
  const bool fresh =
      lanes_.emplace(lane, api::SavedLane{lane, rows, file->bytes}).second;
  if (!fresh) return absl::OkStatus();
  ++progress_.done;
  progress_.rows += rows;
  progress_.bytes += file->bytes;
  return absl::OkStatus();
}

// Writes down how far it is, and shows that it goes on.
absl::Status Saving::Note() {
  const absl::Time begin = base::RealClock().Now();
  if (!missed_) {
    state_.state = api::StateToJson(consumer_->state());
    state_.lanes.clear();
    for (const auto& [number, lane] : lanes_) state_.lanes.push_back(lane);
    TRY(WriteSaveState(options_.store, options_.folder, state_));
  }
  ++told_.beats;
  TRY(ops::WriteUnfinishedSet(options_.store, options_.folder, told_));
  const absl::Time now = base::RealClock().Now();
  note_at_ = now + std::max(kBeatEvery, kNoteParts * (now - begin));
  return absl::OkStatus();
}

absl::Status Saving::NoteIfDue() {
  return base::RealClock().Now() < note_at_ ? absl::OkStatus() : Note();
}

// --- Ending ---

// Whoever waits for a lane is told, and whoever goes on need not listen.
absl::Status Saving::Failed(const absl::Status& status) {
  if (consumer_ == nullptr) return status;
  told_.failed = base::ToStd(status.message());
  if (told_.failed.empty()) told_.failed = "unknown";
  Note().IgnoreError();  // Perhaps it is the disk that failed.
  return base::Annotate(
      status, base::StrCat("saving to ", options_.folder, ", of which ", progress_.done,
                           " of ", progress_.lanes, " lanes are there"));
}

// What is read again must be told its fields by some file.
absl::Status Saving::WriteEmptyFile() {
  const std::string path = base::StrCat(options_.folder, "/", NameOf(0));
  const std::unique_ptr<ops::RowsFile> file =
      TRY(format_->begin(TRY(options_.store.Create(path)),
                         {.spec = pipeline_.spec(), .pool = core::HeapPool()}));
  TRY(file->Publish());
  return TakeLane(0, 0);
}

absl::Status Saving::Finish() {
  consumer_->Leave();
  if (progress_.lanes == 0) TRY(WriteEmptyFile());
  ops::SavedSet saved = {.format = told_.format, .fields = told_.fields, .files = {}};
  for (const auto& [number, lane] : lanes_) {
    saved.files.push_back({.name = NameOf(number), .rows = lane.rows});
  }
  TRY(ops::WriteSavedSet(options_.store, options_.folder, saved));
  TRY(options_.store.Remove(ops::SaveStatePath(options_.folder)));
  return options_.store.Remove(ops::UnfinishedSetPath(options_.folder));
}

}  // namespace

absl::StatusOr<SaveProgress> Save(const ir::Pipeline& pipeline,
                                  const SaveOptions& options) {
  return Saving(pipeline, options).Run();
}

}  // namespace millrace::client
