#include "millrace/control/possible.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"

namespace millrace::control {
namespace {

// A trillion passes, batches or milliseconds: the sum of what all consumers say of such
// is still a number.
constexpr int64_t kCountMax = int64_t{1} << 40;
// As consumers: more workers than this never take part.
constexpr int64_t kWorkersMax = 1 << 16;
// Times as many lanes as are open at once, this is still a number.
constexpr int64_t kLaneBytesMax = int64_t{1} << 46;

absl::Status Within(std::string_view what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(what, " must be ", least, " to ", most, ", not ", value));
}

absl::Status CheckLane(const api::LaneAddress& at) {
  TRY(Within("a pass", at.pass, 0, kCountMax));
  return Within("a lane", at.lane, 0, kCountMax);
}

absl::Status CheckRow(int64_t row) { return Within("a row", row, 0, lanes::kRowsMax); }

absl::Status CheckKnown(const lanes::KnownLane& known) {
  if (lanes::IsPossible(known)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("there is no lane of ", known.rows, " rows with such tails"));
}

absl::Status CheckFacts(const api::WorkerFacts& facts) {
  TRY(Within("lanes_max", facts.lanes_max, 0, kWorkersMax));
  TRY(Within("memory_bytes", facts.memory_bytes, 0, lanes::kRowsMax));
  TRY(Within("of", facts.of, 0, kWorkersMax));
  return facts.of == 0 ? absl::OkStatus()
                       : Within("index", facts.index, 0, facts.of - 1);
}

absl::Status CheckVisits(const api::JobVisits& visits) {
  for (const int64_t count : {visits.made, visits.shared, visits.again, visits.skipped,
                              visits.joined, visits.lag, visits.window_bytes}) {
    TRY(CheckRow(count));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPossible(const api::ConsumerBeat& beat) {
  TRY(Within("a pass", beat.pass, 0, kCountMax));
  TRY(Within("taken", beat.taken, 0, kCountMax));
  TRY(CheckRow(beat.left_out_rows));
  TRY(Within("waits_ms", beat.waits_ms, 0, kCountMax));
  for (const api::NeededLane& need : beat.needs) {
    TRY(CheckLane(need.at));
    TRY(CheckRow(need.from));
  }
  for (const api::KnownRows& known : beat.known) {
    TRY(CheckLane(known.at));
    TRY(CheckKnown({known.rows, known.ended, known.tails}));
  }
  for (const api::PassBeat& pass : beat.passes) {
    TRY(Within("a pass", pass.pass, 0, kCountMax));
  }
  return beat.waits_for ? CheckLane(*beat.waits_for) : absl::OkStatus();
}

absl::Status CheckPossible(const api::WorkerBeat& beat) {
  TRY(Within("a worker", beat.worker, 0, std::numeric_limits<int64_t>::max()));
  if (beat.facts) {
    TRY(Within("the worker of its facts", beat.facts->worker, beat.worker,
               beat.worker));
    TRY(CheckFacts(*beat.facts));
  }
  for (const api::LaneReport& report : beat.lanes) {
    TRY(CheckLane(report.at));
    TRY(CheckKnown({report.rows, report.ended, report.tails}));
  }
  for (const api::JobVisits& visits : beat.visits) TRY(CheckVisits(visits));
  return absl::OkStatus();
}

absl::Status CheckPossible(const api::JobFacts& facts) {
  TRY(Within("lanes", facts.lanes, -1, kCountMax));
  TRY(Within("batch_rows", facts.batch_rows, 1, lanes::kRowsMax));
  TRY(Within("lane_bytes", facts.lane_bytes, 0, kLaneBytesMax));
  TRY(Within("group", facts.group, 1, lanes::kRowsMax));
  TRY(Within("joins", facts.joins, 0, lanes::kRowsMax));
  TRY(Within("grid", facts.grid, 0, lanes::kRowsMax));
  return Within("rows", facts.rows, -1, lanes::kRowsMax);
}

}  // namespace millrace::control
