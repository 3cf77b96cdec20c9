#include "millrace/api/state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <boost/describe.hpp>

#include "millrace/api/json.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/lane_set.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::api {
namespace {

constexpr int64_t kVersion = 2;
constexpr int64_t kVersionWithoutRuns = 1;  // What older ones read.

struct CutMessage {
  bool counted = true;
  bool shuffled = false;
  bool permuted = false;
  bool by_chunk = false;
  int64_t chunk_rows = 1;
  int64_t chunk_bytes = 0;
  int64_t lane_rows = 1;
  bool exact_ends = false;
  int64_t lane_bytes = 0;
};

BOOST_DESCRIBE_STRUCT(CutMessage, (),
                      (counted, shuffled, permuted, by_chunk, chunk_rows, chunk_bytes,
                       lane_rows, exact_ends, lane_bytes))

struct CursorMessage {
  int64_t lane = 0;
  int64_t rows = 0;
  base::Hash128 digest = {};
};

BOOST_DESCRIBE_STRUCT(CursorMessage, (), (lane, rows, digest))

// Where lanes give runs: up to where a piece goes, of which bucket, and whether it is
// whole batches.
struct KeyedMessage {
  int64_t end = 0;
  int64_t key = 0;
  bool batches = false;
};

BOOST_DESCRIBE_STRUCT(KeyedMessage, (), (end, key, batches))

struct CarryMessage {
  int64_t track = 0;
  CursorMessage from;
  std::optional<KeyedMessage> keyed = {};
};

BOOST_DESCRIBE_STRUCT(CarryMessage, (), (track, from, keyed))

// The run that is being taken.
struct RunMessage {
  int64_t left = 0;
  int64_t key = -1;
  bool carried = false;
};

BOOST_DESCRIBE_STRUCT(RunMessage, (), (left, key, carried))

// Lanes as ranges: begin, end, begin, end.
using Spans = std::vector<int64_t>;

// Rows as ranges, as lanes are.
struct TakenMessage {
  int64_t lane = 0;
  Spans rows = {};
  int64_t end = -1;
};

BOOST_DESCRIBE_STRUCT(TakenMessage, (), (lane, rows, end))

struct StateMessage {
  int64_t version = kVersion;
  int64_t pass = 0;
  uint64_t epoch = 0;
  uint64_t seed = 0;
  std::string row_fingerprint;
  std::string manifest_hash;
  std::vector<CutMessage> cuts = {};
  int64_t lanes = 0;
  int64_t copies = 1;
  std::string order = "logical";
  int64_t tracks = 1;
  int64_t turn = 0;
  std::optional<RunMessage> run = {};  // Set where lanes give runs.
  std::vector<int64_t> dealt_first;
  Spans dealt;
  Spans finished;
  std::vector<CursorMessage> cursors = {};
  std::vector<CarryMessage> carry = {};
  std::vector<TakenMessage> taken = {};
  int64_t step = 0;
  int64_t part = 0;
  int64_t parts = 1;
};

BOOST_DESCRIBE_STRUCT(StateMessage, (),
                      (version, pass, epoch, seed, row_fingerprint, manifest_hash, cuts,
                       lanes, copies, order, tracks, turn, run, dealt_first, dealt,
                       finished, cursors, carry, taken, step, part, parts))

CutMessage MessageOf(const lanes::CutRecord& cut) {
  return {.counted = cut.counted,
          .shuffled = cut.shuffled,
          .permuted = cut.permuted,
          .by_chunk = cut.by_chunk,
          .chunk_rows = cut.chunk.rows,
          .chunk_bytes = cut.chunk.bytes.count(),
          .lane_rows = cut.lane_rows,
          .exact_ends = cut.exact_ends,
          .lane_bytes = cut.lane_bytes.count()};
}

lanes::CutRecord CutOf(const CutMessage& from) {
  return {.counted = from.counted,
          .shuffled = from.shuffled,
          .permuted = from.permuted,
          .by_chunk = from.by_chunk,
          .chunk = {.rows = from.chunk_rows, .bytes = base::Bytes(from.chunk_bytes)},
          .lane_rows = from.lane_rows,
          .exact_ends = from.exact_ends,
          .lane_bytes = base::Bytes(from.lane_bytes)};
}

CursorMessage MessageOf(const lanes::Cursor& cursor) {
  return {.lane = cursor.lane, .rows = cursor.rows, .digest = cursor.digest.value()};
}

lanes::Cursor CursorOf(const CursorMessage& from) {
  return {.lane = from.lane, .rows = from.rows, .digest = lanes::Digest(from.digest)};
}

Spans SpansOf(const lanes::LaneSet& set) {
  Spans spans;
  spans.reserve(2 * set.spans().size());
  for (const lanes::LaneSpan& span : set.spans()) {
    spans.push_back(span.begin);
    spans.push_back(span.end);
  }
  return spans;
}

absl::StatusOr<lanes::LaneSet> SetOf(const Spans& spans) {
  lanes::LaneSet set;
  if (spans.size() % 2 != 0) {
    return absl::InvalidArgumentError("a range of lanes has no end");
  }
  for (size_t i = 0; i < spans.size(); i += 2) {
    const bool rises = spans[i] < spans[i + 1] && (i == 0 || spans[i - 1] < spans[i]);
    if (spans[i] < 0 || !rises) {
      return absl::InvalidArgumentError("ranges of lanes must rise, from 0 on");
    }
    set.Add(spans[i], spans[i + 1]);
  }
  return set;
}

constexpr std::pair<std::string_view, lanes::OrderKind> kOrders[] = {
    {"logical", lanes::OrderKind::kLogical},
    {"fixed", lanes::OrderKind::kFixed},
    {"any", lanes::OrderKind::kAny},
};

std::string NameOf(lanes::OrderKind kind) {
  const auto* const found = std::ranges::find(
      kOrders, kind, &std::pair<std::string_view, lanes::OrderKind>::second);
  CHECK(found != std::end(kOrders));
  return std::string(found->first);
}

absl::StatusOr<lanes::OrderKind> OrderOf(std::string_view name) {
  for (const auto& [word, kind] : kOrders) {
    if (word == name) return kind;
  }
  return absl::InvalidArgumentError(
      base::StrCat("order must be logical, fixed or any, not ", name));
}

// What needs no reading of its own.
lanes::State PlainPartOf(const StateMessage& from) {
  lanes::State state;
  state.pass = from.pass;
  state.epoch = from.epoch;
  state.seed = from.seed;
  state.lanes = from.lanes;
  state.copies = from.copies;
  state.turn = from.turn;
  state.step = from.step;
  state.part = from.part;
  state.parts = from.parts;
  state.order.tracks = from.tracks;
  state.order.runs = from.run.has_value();
  if (from.run) state.run = {from.run->left, from.run->key, from.run->carried};
  state.deal.first = from.dealt_first;
  for (const CutMessage& cut : from.cuts) state.cuts.push_back(CutOf(cut));
  return state;
}

}  // namespace

std::string StateToJson(const lanes::State& state) {
  StateMessage message = {.version = state.order.runs ? kVersion : kVersionWithoutRuns,
                          .pass = state.pass,
                          .epoch = state.epoch,
                          .seed = state.seed,
                          .row_fingerprint = base::ToHex(state.row_fingerprint),
                          .manifest_hash = base::ToHex(state.manifest_hash),
                          .lanes = state.lanes,
                          .copies = state.copies,
                          .order = NameOf(state.order.kind),
                          .tracks = state.order.tracks,
                          .turn = state.turn,
                          .dealt_first = state.deal.first,
                          .dealt = SpansOf(state.deal.others),
                          .finished = SpansOf(state.finished),
                          .step = state.step,
                          .part = state.part,
                          .parts = state.parts};
  if (state.order.runs) {
    message.run = {state.run.left, state.run.key, state.run.carried};
  }
  for (const lanes::CutRecord& cut : state.cuts) message.cuts.push_back(MessageOf(cut));
  for (const lanes::Cursor& cursor : state.cursors) {
    message.cursors.push_back(MessageOf(cursor));
  }
  for (const lanes::CarryPiece& piece : state.carry) {
    CarryMessage& carry = message.carry.emplace_back();
    carry = {.track = piece.track, .from = MessageOf(piece.from)};
    if (piece.key >= 0) carry.keyed = {piece.end, piece.key, piece.batches};
  }
  for (const lanes::TakenLane& lane : state.taken) {
    message.taken.push_back({lane.lane, SpansOf(lane.rows), lane.end});
  }
  return ToJson(message);
}

absl::StatusOr<lanes::State> StateFromJson(std::string_view text) {
  const auto message = TRY(FromJson<StateMessage>(text));
  if (message.version > kVersion) {
    return absl::InvalidArgumentError(
        base::StrCat("the state has version ", message.version,
                     ": a newer Millrace wrote it; this one reads up to ", kVersion));
  }
  lanes::State state = PlainPartOf(message);
  state.order.kind = TRY(OrderOf(message.order));
  state.row_fingerprint = TRY(base::ParseSha256(message.row_fingerprint));
  state.manifest_hash = TRY(base::ParseSha256(message.manifest_hash));
  state.deal.others = TRY(SetOf(message.dealt));
  state.finished = TRY(SetOf(message.finished));
  for (const CursorMessage& cursor : message.cursors) {
    state.cursors.push_back(CursorOf(cursor));
  }
  for (const CarryMessage& piece : message.carry) {
    lanes::CarryPiece& carry = state.carry.emplace_back();
    carry.track = piece.track;
    carry.from = CursorOf(piece.from);
    if (!piece.keyed) continue;
    carry.end = piece.keyed->end;
    carry.key = piece.keyed->key;
    carry.batches = piece.keyed->batches;
  }
  for (const TakenMessage& lane : message.taken) {
    state.taken.push_back({lane.lane, TRY(SetOf(lane.rows)), lane.end});
  }
  return state;
}

absl::StatusOr<std::string> JoinStates(const std::vector<std::string>& parts) {
  std::vector<lanes::State> states;
  states.reserve(parts.size());
  for (const std::string& part : parts) states.push_back(TRY(StateFromJson(part)));
  return StateToJson(TRY(lanes::JoinStates(states)));
}

std::string CutsToJson(const std::vector<lanes::CutRecord>& cuts) {
  lanes::State state;
  state.cuts = cuts;
  return StateToJson(state);
}

absl::StatusOr<std::vector<lanes::CutRecord>> CutsFromJson(std::string_view text) {
  if (text.empty()) return std::vector<lanes::CutRecord>();
  return TRY(StateFromJson(text)).cuts;
}

}  // namespace millrace::api
