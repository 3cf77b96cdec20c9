// The part of the reader that takes batches (any_reader.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "millrace/base/check.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/taken.h"

namespace millrace::delivery {

AnyReader::Ready AnyReader::ready() const {
  if (MayTake()) return Choose() ? Ready::kBatch : Ready::kWait;
  if (!final_) return Ready::kWait;
  if (!fills_) return Ready::kEnd;
  return IsFillReady() ? Ready::kBatch : Ready::kWait;
}

// Rows of its tail that can be joined: those of a right come in order.
int64_t AnyReader::TailRowsHere(const Owned& owned) const {
  const bool reached = EndOf(owned) < lanes::kRowsMax && owned.right.group == 0 &&
                       owned.taken_to >= TailBegin(owned) && !owned.redo;
  return reached ? ReceivedTo(owned) - owned.taken_to : 0;
}

std::optional<AnyReader::Choice> AnyReader::Choose() const {
  int64_t tail_rows = 0;
  std::map<int64_t, bool> groups;  // Whether all of it is here.
  for (const auto& [number, owned] : rights_) {
    if (number < 0 || owned.redo) continue;
    const int64_t row = ReceivedTo(owned);
    if (owned.right.group != 0) {
      const auto [group, first] = groups.try_emplace(owned.right.group, true);
      group->second =
          group->second && row == owned.right.end && owned.taken_to < owned.right.end;
      continue;
    }
    const int64_t end = owned.taken_to + batch_rows();
    if (end <= std::min(row, WholeEnd(owned))) return Choice{Kind::kWhole, number};
    tail_rows += TailRowsHere(owned);
  }
  if (tail_rows >= batch_rows()) return Choice{Kind::kJoined};
  for (const auto& [group, here] : groups) {
    if (here) return Choice{Kind::kDealt, group};
  }
  return std::nullopt;
}

bool AnyReader::IsFillReady() const {
  int64_t rows = 0;
  for (const auto& [number, owned] : rights_) {
    if (number >= 0) break;
    if (ReceivedTo(owned) < EndOf(owned)) return false;
    rows += EndOf(owned);
  }
  return rows >= batch_rows() || (rows > 0 && fill_lane_ >= std::ssize(lane_rows_));
}

TakenBatch AnyReader::Take() {
  CHECK(ready() == Ready::kBatch);
  TakenBatch batch;
  if (!MayTake()) {
    TakeFill(batch);
  } else {
    const Choice choice = *Choose();
    if (choice.kind == Kind::kWhole) {
      TakeRows(rights_.at(choice.number), batch_rows(), batch);
    } else if (choice.kind == Kind::kJoined) {
      TakeJoined(batch);
    } else {
      for (auto& [number, owned] : rights_) {
        if (owned.right.group != choice.number) continue;
        TakeRows(owned, owned.right.end - owned.right.begin, batch);
      }
    }
    ++taken_batches_;
    batch.slice_end = batch.valid = batch.rows;
  }
  AskMore();
  return batch;
}

void AnyReader::TakeJoined(TakenBatch& batch) {
  for (auto& [number, owned] : rights_) {
    const int64_t rows = std::min(TailRowsHere(owned), batch_rows() - batch.rows);
    if (number >= 0 && rows > 0) TakeRows(owned, rows, batch);
  }
}

// What fills up is not taken in the sense of a state.
void AnyReader::TakeFill(TakenBatch& batch) {
  const lanes::Taken taken = taken_rows_;
  for (auto it = rights_.begin(); it != rights_.end() && it->first < 0;) {
    TakeRows(it->second, EndOf(it->second), batch);
    it = rights_.erase(it);
  }
  taken_rows_ = taken;
  batch.rows = batch.slice_end = batch_rows();
  fills_ = false;
}

void AnyReader::TakeRows(Owned& owned, int64_t rows, TakenBatch& batch) {
  const int64_t lane = owned.right.lane;
  const int64_t end = owned.taken_to + rows;
  taken_rows_.Add({lane, owned.taken_to, end});
  batch.rows += rows;
  while (owned.taken_to < end) {
    Pieces& pieces = pieces_.at(lane);
    const auto found = std::prev(pieces.upper_bound(owned.taken_to));
    const auto [first, piece] = *found;
    const int64_t to = std::min(end, piece.end);
    batch.parts.push_back(
        {piece.token, owned.taken_to - first, to - owned.taken_to, piece.tail, false});
    owned.taken_to = to;
    const bool needed = std::ranges::any_of(rights_, [&](const auto& right) {
      const Owned& other = right.second;
      return other.right.lane == lane && other.taken_to < piece.end &&
             LimitOf(other) > first;
    });
    if (needed) continue;
    batch.parts.back().last_use = true;
    credit_.Release(piece.bytes);
    pieces.erase(found);
    if (pieces.empty()) pieces_.erase(lane);
  }
  const int64_t known = RowsOf(lane) < lanes::kRowsMax
                            ? RowsOf(lane)
                            : (known_.Get(lane).ended ? known_.Get(lane).rows : -1);
  if (known >= 0) taken_rows_.End(lane, known);
}

}  // namespace millrace::delivery
