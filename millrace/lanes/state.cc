#include "millrace/lanes/state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/lane_set.h"
#include "millrace/lanes/logical_order.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/tracks.h"

namespace millrace::lanes {
namespace {

// Reads a state back, marking each lane as it is mentioned.
class Reader {
 public:
  Reader(const State& state, const std::vector<int64_t>& lane_rows)
      : state_(state), lane_rows_(lane_rows), marks_(lane_rows.size()) {}

  absl::StatusOr<Rest> Read() {
    TRY(CheckOrder());
    TRY(MarkFinished());
    TRY(MarkCursors());
    TRY(state_.order.runs ? MarkKeyed() : MarkCarry());
    return Place();
  }

 private:
  enum class Taken { kNothing, kPart, kCarried, kAll };

  struct Mark {
    Taken taken = Taken::kNothing;
    int64_t rows = 0;    // kPart, kCarried: taken.
    int64_t track = 0;   // kCarried: there.
    bool keyed = false;  // Of what is carried; any track may carry it.
    bool dealt = false;
  };

  template <typename... Pieces>
  static absl::Status Wrong(const Pieces&... pieces) {
    return absl::InvalidArgumentError(base::StrCat("state: ", pieces...));
  }

  bool HasLane(int64_t lane) const {
    return lane >= 0 && lane < std::ssize(lane_rows_);
  }

  absl::Status CheckOrder() const {
    if (state_.lanes != std::ssize(lane_rows_)) {
      return Wrong("it has ", state_.lanes, " lanes, the job has ", lane_rows_.size());
    }
    if (state_.order.kind == OrderKind::kAny) {
      return Wrong("it was saved in order \"any\": go on from it in that order");
    }
    const int64_t tracks = state_.order.tracks;
    const bool logical = state_.order.kind == OrderKind::kLogical;
    if (tracks < 1 || tracks > (logical ? 1 : kTracksMax)) {
      return Wrong("absurd number of tracks: ", tracks);
    }
    if (logical && !state_.carry.empty()) return Wrong("a carry in logical order");
    if (state_.turn < 0 || state_.turn >= tracks) {
      return Wrong("no such track for turn: ", state_.turn, " of ", tracks);
    }
    return absl::OkStatus();
  }

  absl::Status MarkFinished() {
    for (const LaneSpan& span : state_.finished.spans()) {
      if (!HasLane(span.begin) || !HasLane(span.end - 1)) {
        return Wrong("no such lane in finished: ", span.begin, " to ", span.end - 1);
      }
      for (int64_t lane = span.begin; lane < span.end; ++lane) {
        marks_[lane].taken = Taken::kAll;
      }
    }
    return absl::OkStatus();
  }

  absl::Status MarkCursors() {
    for (const Cursor& cursor : state_.cursors) {
      TRY(MarkOpen(cursor, Taken::kPart, 0));
    }
    return absl::OkStatus();
  }

  absl::Status MarkCarry() {
    for (const CarryPiece& piece : state_.carry) {
      if (piece.track < 0 || piece.track >= state_.order.tracks) {
        return Wrong("no such track for carry: ", piece.track, " of ",
                     state_.order.tracks);
      }
      TRY(MarkOpen(piece.from, Taken::kCarried, piece.track));
    }
    return absl::OkStatus();
  }

  // Of a lane that gives runs several pieces may be carried while it still goes on.
  absl::Status MarkKeyed() {
    std::vector<CarryPiece> pieces = state_.carry;
    std::ranges::sort(pieces, {}, [](const CarryPiece& piece) {
      return std::pair(piece.from.lane, piece.from.rows);
    });
    const CarryPiece* before = nullptr;
    for (const CarryPiece& piece : pieces) {
      const Cursor& from = piece.from;
      if (piece.track < 0 || piece.track >= state_.order.tracks) {
        return Wrong("no such track for carry: ", piece.track);
      }
      if (!HasLane(from.lane)) return Wrong("no such lane for ", ToString(from));
      if (from.rows < 0 || piece.end <= from.rows || piece.end > kRowsMax) {
        return Wrong("nothing is carried at ", ToString(from));
      }
      const bool same_lane = before != nullptr && before->from.lane == from.lane;
      Mark& mark = marks_[from.lane];
      const bool taken = mark.taken == Taken::kAll ||
                         (mark.taken == Taken::kPart && piece.end > mark.rows);
      if (taken || (same_lane && before->end > from.rows)) {
        return Wrong("rows twice, at ", ToString(from));
      }
      if (mark.taken == Taken::kNothing) mark.taken = Taken::kCarried;
      mark.keyed = true;
      before = &piece;
    }
    return absl::OkStatus();
  }

  absl::Status MarkOpen(const Cursor& cursor, Taken taken, int64_t track) {
    if (!HasLane(cursor.lane)) return Wrong("no such lane for ", ToString(cursor));
    Mark& mark = marks_[cursor.lane];
    if (mark.taken != Taken::kNothing)
      return Wrong("lane twice, at ", ToString(cursor));
    if (cursor.rows < 0 || cursor.rows >= lane_rows_[cursor.lane]) {
      return Wrong("no such row, at ", ToString(cursor), ", of ",
                   lane_rows_[cursor.lane], " rows");
    }
    mark.taken = taken;
    mark.rows = cursor.rows;
    mark.track = track;
    return absl::OkStatus();
  }

  // Deals the lanes as they were dealt, less what was taken.
  absl::StatusOr<Rest> Place() {
    Rest rest{state_.deal, std::vector<Track>(state_.order.tracks), state_.turn,
              state_.run};
    int64_t number = 0;
    for (const int64_t lane : state_.deal.first) {
      TRY(PlaceLane(lane, number++, rest));
    }
    for (const LaneSpan& span : state_.deal.others.spans()) {
      for (int64_t lane = span.begin; lane < span.end; ++lane) {
        TRY(PlaceLane(lane, number++, rest));
      }
    }
    for (int64_t lane = 0; lane < std::ssize(lane_rows_); ++lane) {
      const Mark& mark = marks_[lane];
      if (mark.dealt || mark.taken == Taken::kAll) continue;
      if (mark.keyed && mark.taken == Taken::kCarried) continue;
      return Wrong("lane ", lane, " is neither finished nor dealt");
    }
    for (const CarryPiece& piece : state_.carry) {
      const int64_t end = piece.end < 0 ? lane_rows_[piece.from.lane] : piece.end;
      rest.tracks[piece.track].carry.push_back(
          {piece.from.lane, piece.from.rows, end, piece.key, piece.batches});
    }
    return rest;
  }

  absl::Status PlaceLane(int64_t lane, int64_t number, Rest& rest) {
    if (!HasLane(lane)) return Wrong("no such lane in the deal: ", lane);
    Mark& mark = marks_[lane];
    if (mark.dealt) return Wrong("lane dealt twice: ", lane);
    mark.dealt = true;
    const int64_t track = number % state_.order.tracks;
    if (mark.taken == Taken::kCarried && !mark.keyed && mark.track != track) {
      return Wrong("carry of track ", mark.track, " has lane ", lane, " of track ",
                   track);
    }
    const bool to_come = mark.taken == Taken::kNothing || mark.taken == Taken::kPart;
    if (to_come && lane_rows_[lane] > 0) {
      rest.tracks[track].lanes.push_back({lane, mark.rows, lane_rows_[lane]});
    }
    return absl::OkStatus();
  }

  const State& state_;
  const std::vector<int64_t>& lane_rows_;
  std::vector<Mark> marks_;  // For every lane.
};

// Compares one field of a state with what a job has.
absl::Status Same(std::string_view field, const std::string& in_state,
                  const std::string& in_job) {
  if (in_state == in_job) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat("state does not fit the job: ", field,
                                                 " differs: the state has ", in_state,
                                                 ", the job has ", in_job));
}

std::string YesNo(bool value) { return value ? "yes" : "no"; }

absl::Status SameCut(const CutRecord& state, const CutRecord& job) {
  const auto number = [](int64_t value) { return base::StrCat(value); };
  TRY(Same("counted", YesNo(state.counted), YesNo(job.counted)));
  TRY(Same("shuffled", YesNo(state.shuffled), YesNo(job.shuffled)));
  TRY(Same("permuted", YesNo(state.permuted), YesNo(job.permuted)));
  TRY(Same("lanes by chunk", YesNo(state.by_chunk), YesNo(job.by_chunk)));
  TRY(Same("rows per chunk", number(state.chunk.rows), number(job.chunk.rows)));
  TRY(Same("bytes per chunk", number(state.chunk.bytes.count()),
           number(job.chunk.bytes.count())));
  TRY(Same("rows per lane", number(state.lane_rows), number(job.lane_rows)));
  TRY(Same("bytes per lane", number(state.lane_bytes.count()),
           number(job.lane_bytes.count())));
  return Same("exact lane ends", YesNo(state.exact_ends), YesNo(job.exact_ends));
}

absl::Status SameCuts(const std::vector<CutRecord>& state,
                      const std::vector<CutRecord>& job) {
  TRY(Same("number of sources", base::StrCat(state.size()), base::StrCat(job.size())));
  for (size_t i = 0; i < state.size(); ++i) TRY(SameCut(state[i], job[i]));
  return absl::OkStatus();
}

std::string ToString(const CutRecord& cut) {
  if (cut.by_chunk) {
    return base::StrCat("chunks of ", cut.chunk.rows, " rows or ",
                        cut.chunk.bytes.count(), " bytes, each a lane",
                        cut.counted ? ", counted" : ", not counted");
  }
  if (!cut.counted) {
    return base::StrCat("lanes of ", cut.lane_bytes.count(), " bytes",
                        cut.shuffled ? ", shuffled" : "", ", not counted");
  }
  return base::StrCat("chunks of ", cut.chunk.rows, " rows or ",
                      cut.chunk.bytes.count(), " bytes, lanes of ", cut.lane_rows,
                      cut.exact_ends ? " rows exactly" : " rows",
                      cut.shuffled ? ", shuffled" : "",
                      cut.permuted ? ", rows permuted" : "", ", counted");
}

}  // namespace

std::unique_ptr<Order> MakeOrder(OrderKind kind, Rest rest, const Batching& batching) {
  if (kind == OrderKind::kLogical) {
    return std::make_unique<LogicalOrder>(std::move(rest), batching);
  }
  return std::make_unique<TrackOrder>(std::move(rest), batching);
}

void SetRest(State& state, const Rest& rest, int64_t lanes) {
  CHECK_EQ(std::ssize(rest.tracks), state.order.tracks);
  state.lanes = lanes;
  state.turn = rest.turn;
  state.run = rest.run;
  state.deal = rest.deal;
  state.cursors.clear();
  state.carry.clear();
  std::vector<bool> left(lanes, false);
  for (int64_t track = 0; track < std::ssize(rest.tracks); ++track) {
    for (const LaneRange& range : rest.tracks[track].carry) {
      left[range.lane] = true;
      CarryPiece& piece = state.carry.emplace_back();
      piece = {track, {range.lane, range.begin, {}}, -1, range.key, range.batches};
      if (range.key >= 0) piece.end = range.end;
    }
    for (const LaneRange& range : rest.tracks[track].lanes) {
      left[range.lane] = true;
      if (range.begin == 0) continue;
      state.cursors.push_back({range.lane, range.begin, {}});
    }
  }
  std::ranges::sort(state.cursors, {}, &Cursor::lane);
  state.finished = LaneSet();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (!left[lane]) state.finished.Add(lane, lane + 1);
  }
}

absl::StatusOr<Rest> GetRest(const State& state,
                             const std::vector<int64_t>& lane_rows) {
  return Reader(state, lane_rows).Read();
}

absl::StatusOr<Rest> Resume(const State& state, const std::vector<int64_t>& lane_rows,
                            const OrderRecord& order) {
  if (state.order.runs != order.runs) {
    return absl::InvalidArgumentError(
        state.order.runs
            ? "the state is of coordinated reads, which count otherwise: go on from it "
              "on a service, with the same pipeline"
            : "the state is of a pass that was not read in runs of batches, as "
              "coordinated reads are: go on from it as it was saved");
  }
  Rest rest = TRY(GetRest(state, lane_rows));
  if (state.order == order) return rest;
  return DealAnew(rest, order.tracks);
}

absl::Status Fits(const State& state, const JobFacts& job) {
  TRY(Same("row fingerprint", base::ToHex(state.row_fingerprint),
           base::ToHex(job.row_fingerprint)));
  TRY(Same("manifest hash", base::ToHex(state.manifest_hash),
           base::ToHex(job.manifest_hash)));
  if (job.seed) TRY(Same("seed", base::StrCat(state.seed), base::StrCat(*job.seed)));
  if (job.cuts) TRY(SameCuts(state.cuts, *job.cuts));
  return absl::OkStatus();
}

std::string ToString(const State& state) {
  const auto join = [](const auto& items, const auto& write) {
    return absl::StrJoin(items, ", ", [&](std::string* out, const auto& item) {
      out->append(write(item));
    });
  };
  std::string order = "logical";
  if (state.order.kind == OrderKind::kAny) {
    order = base::StrCat("any, step ", state.step);
  } else if (state.order.kind == OrderKind::kFixed) {
    order = base::StrCat("fixed, ", state.order.tracks, " tracks, turn ", state.turn);
    if (state.order.runs) order += base::StrCat(", runs, ", state.run.left, " left");
  }
  return base::StrCat(
      "pass ", state.pass, " epoch ", state.epoch, " seed ", state.seed,           //
      "\nrow fingerprint ", base::ToHex(state.row_fingerprint),                    //
      "\nmanifest ", base::ToHex(state.manifest_hash),                             //
      "\ncut ", join(state.cuts, [](const CutRecord& c) { return ToString(c); }),  //
      "\norder ", order,                                                           //
      "\ndealt first ", absl::StrJoin(state.deal.first, " "),                      //
      "\nfinished ", state.finished.size(), " of ", state.lanes, " lanes: ",
      state.finished.ToString(),                                                    //
      "\nopen ", join(state.cursors, [](const Cursor& c) { return ToString(c); }),  //
      "\ncarry ",
      join(state.carry,
           [](const CarryPiece& p) {
             const std::string bucket =
                 p.key < 0 ? "" : base::StrCat(" to ", p.end, " bucket ", p.key);
             return base::StrCat("track ", p.track, " ", ToString(p.from), bucket);
           }),
      state.taken.empty() ? "" : "\ntaken ",
      join(state.taken,
           [](const TakenLane& l) {
             return base::StrCat("lane ", l.lane, " rows ", l.rows.ToString());
           }),
      "\n");
}

}  // namespace millrace::lanes
