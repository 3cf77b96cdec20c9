// The part of the simulated cluster that is about order "any": resuming from parts, and
// what must hold (cluster.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/rights.h"
#include "millrace/api/state.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/rights.h"
#include "millrace/control/state.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"
#include "millrace/sim/cluster.h"
#include "millrace/sim/sim_consumer.h"

namespace millrace::sim {
namespace {

// How often each row of a pass is there, by lane.
class RowCounts {
 public:
  explicit RowCounts(const std::vector<int64_t>& lane_rows) {
    for (const int64_t rows : lane_rows) counts_.emplace_back(rows, 0);
  }

  // Rows beyond the lane's end do not exist.
  void Add(const lanes::LaneRange& range) {
    std::vector<int64_t>& lane = counts_.at(range.lane);
    const int64_t end = std::min<int64_t>(range.end, std::ssize(lane));
    for (int64_t row = range.begin; row < end; ++row) ++lane[row];
  }

  int64_t Of(int64_t lane, int64_t row) const { return counts_[lane][row]; }

  int64_t most() const {
    int64_t most = 0;
    for (const auto& lane : counts_) {
      for (const int64_t count : lane) most = std::max(most, count);
    }
    return most;
  }

 private:
  std::vector<std::vector<int64_t>> counts_;
};

}  // namespace

// Saves where all are at one step, loses all consumers, goes on with others: from the
// parts, or from what they are joined to.
void Cluster::ResumeAnywhere() {
  std::vector<std::string> parts;
  std::vector<lanes::State> states;
  for (int64_t i = 0; i < std::ssize(consumers_); ++i) {
    const SimConsumer& consumer = *consumers_[i].process;
    if (!consumer.opened() || consumer.done()) return;
    parts.push_back(consumer.State());
    states.push_back(api::StateFromJson(parts.back()).value());
    const bool same =
        states[i].pass == states[0].pass && states[i].step == states[0].step;
    if (!same) return;
  }
  const absl::Status taken = CheckAny();
  CHECK(taken.ok()) << taken;
  const absl::StatusOr<lanes::State> joined = lanes::JoinStates(states);
  CHECK(joined.ok()) << joined.status();
  BeginRun(api::StateToJson(*joined), parts);
}

// --- What must hold ---

// What was left of the lanes of a pass when this run began.
std::vector<std::vector<lanes::LaneRange>> Cluster::OpenRows(int64_t pass) const {
  const std::vector<int64_t>& rows = truth_.lane_rows[pass];
  lanes::Taken taken;
  if (!state_.empty()) {
    const lanes::State state = api::StateFromJson(state_).value();
    if (state.pass == pass) taken = lanes::TakenOf(state, rows).value();
  }
  std::vector<std::vector<lanes::LaneRange>> open;
  for (int64_t lane = 0; lane < std::ssize(rows); ++lane) {
    std::vector<lanes::LaneRange>& ranges = open.emplace_back(taken.Open(lane));
    for (lanes::LaneRange& range : ranges) range.end = std::min(range.end, rows[lane]);
    std::erase_if(ranges, [](const lanes::LaneRange& r) { return r.rows() <= 0; });
  }
  return open;
}

// How many batches there are in what is left: whole ones of each range, and what is
// joined of the rest.
int64_t Cluster::BatchesOf(int64_t pass) const {
  const int64_t size = truth_.batch_rows;
  int64_t batches = 0;
  int64_t rows = 0;
  for (const std::vector<lanes::LaneRange>& ranges : OpenRows(pass)) {
    for (const lanes::LaneRange& range : ranges) {
      batches += range.rows() / size;
      rows += range.rows() % size;
    }
  }
  return batches + (rows + size - 1) / size;
}

absl::Status Cluster::CheckRights() const {
  const control::State& state = dispatcher_->state();
  const control::JobState* const job = state.Find(state.Named(settings_.name));
  if (!any_ || job == nullptr) return absl::OkStatus();
  const SimConsumer& first = *consumers_[0].process;
  const bool current = first.opened() && job->incarnation == first.hello().incarnation;
  if (!current) return absl::OkStatus();
  for (const auto& [pass, rights] : job->passes) TRY(CheckRightsOf(pass, rights));
  return absl::OkStatus();
}

// No row has two rights; and what a consumer believes it may take, it may.
absl::Status Cluster::CheckRightsOf(int64_t pass,
                                    const control::PassRights& rights) const {
  const std::vector<int64_t>& rows = truth_.lane_rows[pass];
  RowCounts all(rows);
  std::vector<RowCounts> own(consumers_.size(), RowCounts(rows));
  for (const control::OwnedRight& owned : rights.rights) {
    const api::Right& right = owned.right;
    const lanes::LaneRange range{right.lane, right.begin, right.end};
    all.Add(range);
    if (owned.consumer >= 0) own.at(owned.consumer).Add(range);
  }
  if (all.most() > 1) return absl::InternalError("two rights to one row");
  for (int64_t i = 0; i < std::ssize(consumers_); ++i) {
    const delivery::AnyReader* const reader = consumers_[i].process->job().AnyOf(pass);
    if (reader == nullptr) continue;
    for (const lanes::LaneRange& range : reader->Held()) {
      const int64_t end = std::min(range.end, rows[range.lane]);
      for (int64_t row = range.begin; row < end; ++row) {
        if (own[i].Of(range.lane, row) > 0) continue;
        return absl::InternalError(base::StrCat("consumer ", i, " believes it has row ",
                                                row, " of lane ", range.lane));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Cluster::CheckAny() const {
  for (int64_t pass = 0; pass < std::ssize(truth_.lane_rows); ++pass) {
    TRY(CheckRows(pass));
    const bool over = std::ranges::all_of(consumers_, [&](const Consumer& consumer) {
      return consumer.process->pass() > pass || consumer.process->done();
    });
    const bool before =
        !state_.empty() && api::StateFromJson(state_).value().pass > pass;
    if (over && !before) TRY(CheckCounts(pass));
  }
  return absl::OkStatus();
}

// Nobody took what was taken, in this run or before it; at the end all was, less the
// remainder.
absl::Status Cluster::CheckRows(int64_t pass) const {
  RowCounts counts(truth_.lane_rows[pass]);
  for (const std::vector<lanes::LaneRange>& ranges : OpenRows(pass)) {
    for (const lanes::LaneRange& range : ranges) counts.Add(range);
  }
  // What was open is counted now; taking it once makes two.
  for (const Consumer& consumer : consumers_) {
    for (const TakenRows& taken : consumer.process->taken()) {
      if (taken.pass != pass || taken.valid == 0) continue;
      for (const lanes::LaneRange& range : taken.rows) counts.Add(range);
    }
  }
  const bool repeats = visit_ == "at_least_once";
  if (counts.most() > 2 && !repeats)
    return absl::InternalError("a row was taken twice");
  return absl::OkStatus();
}

// All took as many batches, and of exactly once no fewer than there are.
absl::Status Cluster::CheckCounts(int64_t pass) const {
  const int64_t n = std::ssize(consumers_);
  const int64_t batches = BatchesOf(pass);
  const bool kept = settings_.remainder == "keep";
  RowCounts rows(truth_.lane_rows[pass]);
  std::vector<int64_t> counts;
  int64_t valid = 0;
  for (const Consumer& consumer : consumers_) {
    int64_t& count = counts.emplace_back();
    for (const TakenRows& taken : consumer.process->taken()) {
      if (taken.pass != pass) continue;
      ++count;
      if (taken.valid > 0) ++valid;
      for (const lanes::LaneRange& range : taken.rows) rows.Add(range);
    }
  }
  const auto [least, most] = std::ranges::minmax(counts);
  const auto wrong = [&](const auto&... what) {
    return absl::InternalError(base::StrCat("pass ", pass, ": ", what..., "; ", valid,
                                            " of ", batches, " batches, by ", n));
  };
  if (most - least > (kept ? 1 : 0)) return wrong("they did not end together");
  if (visit_ == "at_most_once") {
    return valid <= batches ? absl::OkStatus() : wrong("more than there are");
  }
  const bool drops = settings_.remainder == "drop";
  const bool repeats = visit_ == "at_least_once";
  const int64_t expected = drops ? batches / n * n : batches;
  if (repeats ? valid < expected : valid != expected) return wrong("not all");
  if (drops) return absl::OkStatus();
  for (const auto& ranges : OpenRows(pass)) {
    for (const lanes::LaneRange& range : ranges) {
      for (int64_t row = range.begin; row < range.end; ++row) {
        if (rows.Of(range.lane, row) == 0) return wrong("row ", row, " was left out");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace::sim
