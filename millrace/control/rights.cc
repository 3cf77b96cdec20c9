#include "millrace/control/rights.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/rights.h"
#include "millrace/base/text.h"
#include "millrace/lanes/manifest.h"

namespace millrace::control {
namespace {

template <typename Pass>
auto Lookup(Pass& pass, int64_t number) {
  const auto found = std::ranges::lower_bound(
      pass.rights, number, {},
      [](const OwnedRight& owned) { return owned.right.number; });
  const bool there = found != pass.rights.end() && found->right.number == number;
  return there ? found : pass.rights.end();
}

absl::Status NoSuch(int64_t number) {
  return absl::DataLossError(
      base::StrCat("the journal speaks of a right that is not there: ", number));
}

void Add(PassRights& pass, api::Right right, int64_t consumer) {
  right.number = pass.next_number++;
  pass.next_group = std::max(pass.next_group, right.group + 1);
  pass.rights.push_back({right, consumer});
}

Tally& TallyOf(PassRights& pass, int64_t consumer) {
  if (std::ssize(pass.tallies) <= consumer) pass.tallies.resize(consumer + 1);
  return pass.tallies[consumer];
}

// Counts what was taken of a right that is no more.
void Count(PassRights& pass, const OwnedRight& owned, int64_t end) {
  Tally& tally = TallyOf(pass, owned.consumer);
  const int64_t rows = end - owned.right.begin;
  if (owned.right.group == 0) {
    Increase(tally.batches, rows / pass.facts.batch_rows);
    Increase(tally.tail_rows, rows % pass.facts.batch_rows);
    return;
  }
  const bool last = std::ranges::none_of(pass.rights, [&](const OwnedRight& other) {
    return other.right.group == owned.right.group;
  });
  if (last) Increase(tally.batches, 1);
}

// The row where a lane is open for those that were there before.
int64_t OpenRow(const PassRights& pass, int64_t lane) {
  for (const api::RightPlace& open : pass.late.open) {
    if (open.number == lane) return open.row;
  }
  return 0;
}

void ApplyLease(PassRights& pass, const Lease& lease) {
  const int64_t lane = LaneOfLease(pass, pass.next_lane++).lane;
  for (const RowRange& range : lease.ranges) {
    Add(pass, {0, lane, range.begin, range.end, 0}, lease.consumer);
  }
}

absl::Status ApplyMove(PassRights& pass, const Move& move) {
  const auto found = Lookup(pass, move.rows.number);
  if (found == pass.rights.end()) return NoSuch(move.rows.number);
  const OwnedRight old = *found;
  if (!MayMove(pass, old.consumer, move.rows)) return NoSuch(move.rows.number);
  if (move.rows.begin > old.right.begin) {
    found->right.end = move.rows.begin;
  } else {
    pass.rights.erase(found);
  }
  api::Right moved = old.right;
  moved.begin = move.rows.begin;
  moved.end = move.rows.end;
  moved.group = move.group;
  if (move.rows.to != api::kToNobody) Add(pass, moved, move.rows.to);
  api::Right behind = old.right;
  behind.begin = move.rows.end;
  if (behind.begin < behind.end) Add(pass, behind, old.consumer);
  return absl::OkStatus();
}

absl::Status ApplyFinish(PassRights& pass, const api::RightPlace& place, bool again) {
  const auto found = Lookup(pass, place.number);
  if (found == pass.rights.end()) return NoSuch(place.number);
  const OwnedRight owned = *found;
  if (!MayReach(pass, owned.consumer, place)) return NoSuch(place.number);
  pass.rights.erase(found);
  Count(pass, owned, place.row);
  if (again) Add(pass, owned.right, owned.consumer);
  return absl::OkStatus();
}

}  // namespace

void Increase(int64_t& count, int64_t by) {
  count = std::min(count + by, lanes::kRowsMax);
}

absl::Status Apply(PassRights& pass, const PassChange& change) {
  if (change.begun) pass.facts = *change.begun;
  if (change.late) pass.late = *change.late;
  if (change.leased) ApplyLease(pass, *change.leased);
  if (change.counted) pass.batches = *change.counted;
  if (change.moved) return ApplyMove(pass, *change.moved);
  if (change.finished) return ApplyFinish(pass, *change.finished, /*again=*/false);
  if (change.redone) return ApplyFinish(pass, *change.redone, /*again=*/true);
  return absl::OkStatus();
}

bool IsLeased(const PassRights& pass) {
  const int64_t all = pass.facts.lanes + std::ssize(pass.late.open);
  return pass.facts.lanes != api::kEndless && pass.next_lane >= all;
}

LeasedLane LaneOfLease(const PassRights& pass, int64_t number) {
  const int64_t lanes = pass.facts.lanes;
  int64_t lane = pass.late.first_lane + number;
  if (lanes != api::kEndless) {
    if (number >= lanes) {
      const api::RightPlace& missed = pass.late.open[number - lanes];
      return {missed.number, {0, missed.row}};
    }
    lane %= lanes;
  }
  return {lane, {OpenRow(pass, lane), lanes::kRowsMax}};
}

bool IsToBeLeased(const PassRights& pass, int64_t lane) {
  const int64_t lanes = pass.facts.lanes;
  int64_t number = lane - pass.late.first_lane;
  if (lanes == api::kEndless) return number >= pass.next_lane;
  if (number < 0) number += lanes;
  if (number >= pass.next_lane) return true;
  const int64_t missed = std::max<int64_t>(0, pass.next_lane - lanes);
  return std::any_of(pass.late.open.begin() + missed, pass.late.open.end(),
                     [&](const api::RightPlace& open) { return open.number == lane; });
}

const OwnedRight* Find(const PassRights& pass, int64_t number) {
  const auto found = Lookup(pass, number);
  return found == pass.rights.end() ? nullptr : &*found;
}

bool MayMove(const PassRights& pass, int64_t owner, const api::Promise& promise) {
  const OwnedRight* const owned = Find(pass, promise.number);
  return owned != nullptr && owned->consumer == owner &&
         owned->right.begin <= promise.begin && promise.begin < promise.end &&
         promise.end <= owned->right.end;
}

bool MayReach(const PassRights& pass, int64_t owner, const api::RightPlace& place) {
  const OwnedRight* const owned = Find(pass, place.number);
  return owned != nullptr && owned->consumer == owner && owner >= 0 &&
         owned->right.begin <= place.row && place.row <= owned->right.end;
}

}  // namespace millrace::control
