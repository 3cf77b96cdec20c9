#include "millrace/delivery/job_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/error.h"
#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/ids.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"

namespace millrace::delivery {
namespace {

// What comes with one message, at most: far more than a channel takes.
constexpr int64_t kBatchBytesMax = int64_t{1} << 36;

absl::Status CheckRows(int64_t begin, int64_t end) {
  if (begin >= 0 && begin <= end && end <= lanes::kRowsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("there are no rows ", begin, " to ", end));
}

absl::Status CheckKnown(const lanes::KnownLane& known) {
  if (lanes::IsPossible(known)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("there is no lane of ", known.rows, " rows with such tails"));
}

// Checked before anything is counted with it: it came from elsewhere.
absl::Status CheckPossible(const api::WorkerMessage& message) {
  if (message.end) TRY(CheckKnown({message.end->rows, true, message.end->tails}));
  if (message.skip) TRY(CheckRows(message.skip->begin, message.skip->end));
  if (!message.batch) return absl::OkStatus();
  TRY(CheckRows(message.batch->begin, message.batch->end));
  TRY(CheckKnown({message.batch->end, message.batch->last, message.batch->tails}));
  const int64_t bytes = message.batch->bytes;
  if (bytes >= 0 && bytes <= kBatchBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat("a batch of ", bytes, " bytes"));
}

}  // namespace

// --- Passes ---

void JobReader::Begin(BegunPass begun) {
  CHECK(begun.reader != nullptr);
  const int64_t number = begun.reader->pass();
  Pass& pass = passes_[number];
  CHECK(pass.reader == nullptr) << "a pass begins once";
  pass.any = dynamic_cast<AnyReader*>(begun.reader.get());
  pass.reader = std::move(begun.reader);
  pass.facts = std::move(begun.facts);
  if (pass_ < 0) pass_ = number;
  ShareCredit();
}

std::optional<int64_t> JobReader::wants_pass() const {
  const auto& [last, pass] = *passes_.rbegin();
  if (last > pass_ || !pass.reader->MayBeginNext()) return std::nullopt;
  return last + 1;
}

// In any order others may still need what a pass that was taken to its end has
// promised.
void JobReader::GoTo(int64_t number) {
  CHECK(passes_.contains(number));
  for (auto it = passes_.begin(); it != passes_.end();) {
    Pass& pass = it->second;
    const bool ended = pass.reader->ready() == PassReader::Ready::kEnd;
    if (it->first == number || (pass.any != nullptr && ended && it->first < number)) {
      ++it;
      continue;
    }
    LeavePass(pass);
    it = passes_.erase(it);
  }
  pass_ = number;
  ShareCredit();
}

void JobReader::StartOver(BegunPass begun) {
  const int64_t number = begun.reader->pass();
  if (Pass* const before = Find(number)) {
    LeavePass(*before);
    passes_.erase(number);
  }
  pass_ = number;
  Begin(std::move(begun));
  GoTo(number);
}

void JobReader::LeavePass(Pass& pass) {
  pass.reader->Leave();
  for (ReaderAction& action : pass.reader->TakeActions()) {
    left_.push_back(std::move(action));
  }
  taken_ += pass.reader->taken();
  left_out_rows_ += pass.reader->left_out_rows();
}

// What the pass that is taken from leaves is for the one ahead.
void JobReader::ShareCredit() {
  const int64_t used = current().credit().used();
  for (auto& [number, pass] : passes_) {
    const bool ahead = number > pass_;
    pass.reader->SetCredit(options_.credit_bytes - (ahead ? used : 0));
  }
}

JobReader::Pass* JobReader::Find(int64_t pass) {
  const auto found = passes_.find(pass);
  return found == passes_.end() ? nullptr : &found->second;
}

const AnyReader* JobReader::AnyOf(int64_t pass) const {
  const auto found = passes_.find(pass);
  return found == passes_.end() ? nullptr : found->second.any;
}

TakenBatch JobReader::Take() {
  TakenBatch batch = current().Take();
  ShareCredit();
  return batch;
}

// --- What the dispatcher and workers say ---

absl::Status JobReader::OnNews(const api::ConsumerNews& news) {
  if (news.failed) return api::ToStatus(*news.failed);
  if (news.version < version_) return absl::OkStatus();
  version_ = news.version;
  tell_known_ = news.tell_known;
  ShareCredit();
  TRY(HearPasses(news));
  for (const api::PlacedLane& placed : news.placed) {
    std::optional<WorkerId> worker;
    if (placed.worker >= 0) worker = base::MakeId<WorkerId>(placed.worker);
    if (Pass* const pass = Find(placed.at.pass)) {
      pass->reader->OnPlaced(placed.at, worker);
    }
  }
  return absl::OkStatus();
}

absl::Status JobReader::HearPasses(const api::ConsumerNews& news) {
  for (const api::KnownRows& known : news.known) {
    Pass* const pass = Find(known.at.pass);
    if (pass == nullptr) continue;
    const lanes::KnownLane lane{known.rows, known.ended, known.tails};
    TRY(CheckKnown(lane));
    TRY(pass->reader->OnKnown(known.at.lane, lane));
  }
  for (const api::PassNews& told : news.passes) {
    Pass* const pass = Find(told.pass);
    if (pass == nullptr || pass->any == nullptr) continue;
    TRY(pass->any->Check(told));
    pass->any->OnNews(told);
  }
  while (passes_.begin()->first < std::min(news.passes_over, pass_)) {
    LeavePass(passes_.begin()->second);
    passes_.erase(passes_.begin());
  }
  return absl::OkStatus();
}

absl::Status JobReader::OnWorker(WorkerId worker, const api::WorkerMessage& message,
                                 Token token) {
  TRY(CheckPossible(message));
  ShareCredit();
  if (message.batch) {
    Pass* const pass = Find(message.batch->at.pass);
    if (pass == nullptr) {
      left_.emplace_back(Drop{token});
    } else {
      TRY(pass->reader->OnBatch(*message.batch, token));
    }
  }
  if (message.end) {
    if (Pass* const pass = Find(message.end->at.pass)) {
      TRY(pass->reader->OnEnd(*message.end));
    }
  }
  if (message.failure) {
    if (Pass* const pass = Find(message.failure->at.pass)) {
      pass->reader->OnFailed(worker, message.failure->at);
    }
  }
  if (message.skip) {
    Pass* const pass = Find(message.skip->at.pass);
    if (pass != nullptr && pass->any != nullptr) pass->any->OnSkip(*message.skip);
  }
  if (message.refused) return absl::FailedPreconditionError(*message.refused);
  return absl::OkStatus();
}

void JobReader::OnWorkerGone(WorkerId worker) {
  for (auto& [number, pass] : passes_) pass.reader->OnWorkerGone(worker);
}

bool JobReader::settled() const {
  return std::ranges::all_of(passes_, [](const auto& entry) {
    const AnyReader* const any = entry.second.any;
    return any == nullptr || any->ready() != PassReader::Ready::kEnd || any->settled();
  });
}

// --- What is to be done and said ---

std::vector<ReaderAction> JobReader::TakeActions() {
  std::vector<ReaderAction> actions = std::exchange(left_, {});
  for (auto& [number, pass] : passes_) {
    for (ReaderAction& action : pass.reader->TakeActions()) {
      actions.push_back(std::move(action));
    }
  }
  return actions;
}

// Of the pass ahead only what it begins with, and after all of this one.
std::vector<LaneNeed> JobReader::Needs() const {
  std::vector<LaneNeed> needs;
  for (const auto& [number, pass] : passes_) {
    for (LaneNeed need : pass.reader->Needs()) {
      const bool ahead = number > pass_ && pass.any == nullptr;
      if (ahead && !std::exchange(need.now, false)) continue;
      needs.push_back(need);
    }
  }
  return needs;
}

api::ConsumerBeat JobReader::Beat() {
  api::ConsumerBeat beat{
      .number = ++beats_, .version = version_, .pass = pass_, .taken = taken_};
  beat.left_out_rows = left_out_rows_;
  for (const LaneNeed& need : Needs()) {
    beat.needs.push_back({need.at, need.from, need.now});
  }
  for (const auto& [number, pass] : passes_) {
    beat.taken += pass.reader->taken();
    beat.left_out_rows += pass.reader->left_out_rows();
    // In any order others are dealt what this one knows.
    if (!options_.counted && (tell_known_ || pass.any != nullptr)) {
      std::ranges::copy(pass.reader->Known(), std::back_inserter(beat.known));
    }
    if (pass.any == nullptr) continue;
    api::PassBeat& about = beat.passes.emplace_back(pass.any->Beat());
    if (number == pass_) told_ = about;
    if (!pass.any->begun()) about.facts = pass.facts;
  }
  return beat;
}

bool JobReader::MustTell() {
  const bool needs_more = NeedsMore();
  return needs_more || HasTakenAll();
}

bool JobReader::NeedsMore() {
  bool changed = false;
  for (auto& [number, pass] : passes_) changed |= pass.reader->TakeNeedsChanged();
  if (!changed) return false;
  std::set<api::LaneAddress> unplaced;
  for (const LaneNeed& need : Needs()) {
    if (!need.placed) unplaced.insert(need.at);
  }
  const bool more = !std::ranges::includes(unplaced_, unplaced);
  unplaced_ = std::move(unplaced);
  return more;
}

// Else the end of every pass would wait for the next beat, and what follows rows that
// were given up.
bool JobReader::HasTakenAll() const {
  const AnyReader* const any = passes_.at(pass_).any;
  if (any == nullptr || any->ready() != PassReader::Ready::kWait) return false;
  const api::PassBeat now = any->Beat();
  const bool nothing = now.finished.empty() && now.promises.empty() && !now.hungry;
  const bool told = now.pass == told_.pass && now.finished == told_.finished &&
                    now.promises == told_.promises && now.hungry == told_.hungry;
  return !nothing && !told;
}

}  // namespace millrace::delivery
