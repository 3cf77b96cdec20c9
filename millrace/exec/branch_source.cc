#include "millrace/exec/branch_source.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"

namespace millrace::exec {
namespace {

constexpr int64_t kFirstSplits = 64;       // As many lanes are planned at least.
constexpr int64_t kTurnsPerGrowth = 4096;  // Turns may be empty: a pass must end.

// As far as that is known without reading them.
bool HasNoRows(const PassPlan& plan) {
  return std::ranges::all_of(plan.joined_rows, [](int64_t rows) { return rows == 0; });
}

}  // namespace

uint64_t KeyOfTurn(int64_t turn, int64_t repeats_before) {
  if (turn == 0) return 0;
  return base::Combine(base::Hash128{0, static_cast<uint64_t>(repeats_before)},
                       static_cast<uint64_t>(turn))
      .lo;
}

uint64_t EpochOfTurn(uint64_t epoch, uint64_t key) {
  return key == 0 ? epoch : base::Combine(base::Hash128{0, epoch}, key).lo;
}

BranchSource::BranchSource(BranchOptions options, PlanTurn plan_turn)
    : options_(std::move(options)), plan_turn_(std::move(plan_turn)) {}

absl::StatusOr<lanes::Manifest> BranchSource::List() {
  const base::MutexLock lock(&mutex_);
  // Inputs of a concat are all looked at: whether rows are counted depends on each.
  while (!AllPlanned() && (!options_.repeats || turns_.empty() ||
                           std::ssize(manifest_.splits) < kFirstSplits)) {
    if (std::ssize(turns_) >= kTurnsPerGrowth && options_.repeats) break;
    TRY(PlanNext());
  }
  return manifest_;
}

absl::Status BranchSource::Grow() {
  const base::MutexLock lock(&mutex_);
  const int64_t wanted = 2 * std::max(std::ssize(manifest_.splits), kFirstSplits);
  for (int64_t turn = 0; turn < kTurnsPerGrowth && !AllPlanned(); ++turn) {
    TRY(PlanNext());
    if (std::ssize(manifest_.splits) >= wanted) break;
  }
  return absl::OkStatus();
}

absl::Status BranchSource::GrowToEnd() {
  const base::MutexLock lock(&mutex_);
  if (!options_.turns) {
    return absl::UnimplementedError(base::StrCat(
        options_.name,
        " without an end cannot stand before an operator that needs all of its rows: "
        "repeat, concat, cache, or one that counts rows where their numbers are not "
        "known; "
        "give it a count, or put that operator before it"));
  }
  while (!AllPlanned()) TRY(PlanNext());
  return absl::OkStatus();
}

lanes::Manifest BranchSource::manifest() const {
  const base::MutexLock lock(&mutex_);
  return manifest_;
}

bool BranchSource::AllPlanned() const {
  if (options_.repeats && (nothing_ || first_turn_->HasNoRows())) return true;
  return options_.turns && std::ssize(turns_) >= *options_.turns;
}

absl::Status BranchSource::PlanNext() {
  const int64_t number = std::ssize(turns_);
  PassPlan plan = TRY(plan_turn_(number));
  TRY(plan.GrowToEnd());
  Turn turn = {.plan = std::make_shared<PassPlan>(std::move(plan)),
               .first_split = std::ssize(manifest_.splits)};
  turn.splits = SplitsOf(*turn.plan);
  for (int64_t split = 0; split < turn.splits; ++split) {
    manifest_.splits.push_back(
        SplitOf(*turn.plan, LanesOfSplit(*turn.plan, split),
                base::StrCat(options_.name, ", turn ", number, ", lane ", split)));
  }
  nothing_ = number == 0 && HasNoRows(*turn.plan);
  if (number == 0) first_turn_->Expect(turn.splits);
  turns_.push_back(std::move(turn));
  return absl::OkStatus();
}

bool BranchSource::waits() const {
  const base::MutexLock lock(&mutex_);
  return std::ranges::any_of(
      turns_, [](const Turn& turn) { return turn.plan->source->waits(); });
}

std::vector<std::shared_ptr<const PassPlan>> BranchSource::inputs() const {
  const base::MutexLock lock(&mutex_);
  if (turns_.empty()) return {};
  return {turns_.front().plan};
}

absl::StatusOr<Inputs> BranchSource::InputsOf(const lanes::RowRange& rows) const {
  const base::MutexLock lock(&mutex_);
  const auto behind = std::ranges::partition_point(
      turns_, [&](const Turn& turn) { return turn.first_split <= rows.split; });
  const Turn& turn = *std::prev(behind);
  const SplitLanes lanes = LanesOfSplit(*turn.plan, rows.split - turn.first_split);
  const int64_t number = std::distance(turns_.begin(), behind) - 1;
  Inputs inputs;
  inputs.runs.push_back(
      {.plan = turn.plan,
       .begin = lanes.begin,
       .end = lanes.end,
       .skip = rows.begin,
       .turn = options_.repeats ? KeyOfTurn(number, options_.repeats_before) : 0});
  const bool watched = number == 0 && options_.repeats && !options_.turns;
  if (watched) {
    // Rows that are skipped are rows.
    inputs.ended = [turn = first_turn_, rows](bool any) {
      turn->End(rows.split, any || rows.begin > 0);
    };
  }
  return inputs;
}

}  // namespace millrace::exec
