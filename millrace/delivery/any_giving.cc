// The part of the reader that gives rights up (any_reader.h). What it promises is
// beyond all that it has taken, and is never taken here from then on.
#include <algorithm>
#include <cstdint>
#include <ranges>
#include <vector>

#include "millrace/api/rights.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/lanes/manifest.h"

namespace millrace::delivery {

void AnyReader::Promise(Owned& owned, int64_t begin, int64_t end, int64_t to) {
  CHECK_GE(begin, owned.taken_to);
  CHECK_LT(begin, end);
  CHECK_LE(end, owned.right.end);
  owned.promises.push_back({owned.right.number, begin, end, to});
  CutAsks(owned);
  Purge(owned.right.lane);
}

void AnyReader::Give(const api::PassNews& news) {
  int64_t rows = news.give_rows;
  for (const api::Ask& ask : news.asks) {
    if (ask.batches == 0 && !final_) GiveLane(ask.to);
    if (ask.batches <= 0 || !final_) continue;
    rows = std::min(rows + GiveBatches(ask) * batch_rows(), lanes::kRowsMax);
  }
  if (final_) GiveTails(rows);
}

// Gives up so many rows of tails, less what it has promised and nobody has heard of.
void AnyReader::GiveTails(int64_t rows) {
  for (const auto& [number, owned] : rights_) {
    for (const api::Promise& promise : owned.promises) {
      if (promise.to == api::kToLeftovers) rows -= promise.end - promise.begin;
    }
  }
  for (auto& [number, owned] : std::views::reverse(rights_)) {
    if (rows <= 0) return;
    if (number < 0 || owned.right.group != 0) continue;
    if (EndOf(owned) == lanes::kRowsMax) continue;
    const int64_t end = LimitOf(owned);
    const int64_t begin = std::max({owned.taken_to, TailBegin(owned), end - rows});
    if (begin >= end) continue;
    rows -= end - begin;
    Promise(owned, begin, end, api::kToLeftovers);
  }
}

// Gives up whole batches, rather such that are not here. Returns how many are lacking.
int64_t AnyReader::GiveBatches(const api::Ask& ask) {
  int64_t batches = ask.batches;
  for (const auto& [number, owned] : rights_) {
    for (const api::Promise& promise : owned.promises) {
      if (promise.to == ask.to) batches -= (promise.end - promise.begin) / batch_rows();
    }
  }
  for (const bool here : {false, true}) {
    for (auto& [number, owned] : std::views::reverse(rights_)) {
      if (batches <= 0) return 0;
      const int64_t end = WholeEnd(owned);
      if (number < 0 || owned.right.group != 0 || end == lanes::kRowsMax) continue;
      const int64_t from = here ? owned.taken_to : ReceivedTo(owned);
      const int64_t given = std::min(batches, (end - from) / batch_rows());
      if (given <= 0) continue;
      batches -= given;
      Promise(owned, end - given * batch_rows(), end, ask.to);
    }
  }
  return std::max<int64_t>(0, batches);
}

// Gives up what it does not have of a lane whose end is not known, if it keeps
// something to go on with.
void AnyReader::GiveLane(int64_t to) {
  Owned* last = nullptr;
  int64_t open = 0;
  for (auto& [number, owned] : rights_) {
    for (const api::Promise& promise : owned.promises) {
      if (promise.to == to) return;
    }
    const bool whole = options_.visit == Visit::kExactlyOnce
                           ? EndOf(owned) < lanes::kRowsMax
                           : ReceivedTo(owned) >= LimitOf(owned);
    if (number < 0 || owned.right.group != 0 || owned.redo || whole) continue;
    if (!owned.promises.empty()) continue;
    ++open;
    last = &owned;
  }
  if (last == nullptr || (open == 1 && !Choose())) return;
  const int64_t begin = last->right.begin;
  const int64_t row = begin + (ReceivedTo(*last) - begin) / batch_rows() * batch_rows();
  if (row >= last->taken_to && row < EndOf(*last)) {
    Promise(*last, row, last->right.end, to);
  }
}

// The worker that ran a right is lost.
void AnyReader::LoseWorkerOf(Owned& owned) {
  if (final_ || owned.right.number < 0 || owned.right.group != 0) return;
  const bool begun = owned.asked_to > owned.right.begin;
  const int64_t row = ReceivedTo(owned);
  if (row >= LimitOf(owned)) return;  // It has all of it.
  if (options_.visit == Visit::kAtMostOnce && begun) {
    int64_t end = owned.right.end;
    for (const api::Promise& promise : owned.promises) {
      end = std::min(end, promise.begin);
    }
    Promise(owned, row, end, api::kToNobody);
  }
  const bool again = options_.visit == Visit::kAtLeastOnce && owned.promises.empty();
  if (again && owned.taken_to > owned.right.begin) owned.redo = true;
}

// What may not be lost is asked for again, and comes then. Of what may, whole batches
// are given up, so that those behind stay what they are.
void AnyReader::OnSkip(const api::LaneSkip& skip) {
  const auto found = rights_.find(skip.at.right);
  if (skip.at.pass != pass() || found == rights_.end()) return;
  Owned& owned = found->second;
  const bool asked = std::ranges::any_of(
      owned.asks, [&](const Asked& ask) { return ask.begin == skip.begin; });
  if (!asked || skip.end <= skip.begin) return;
  const int64_t end = std::min(skip.end, LimitOf(owned));
  const bool lossy = options_.visit == Visit::kAtMostOnce && !final_ &&
                     owned.right.group == 0 && owned.right.number > 0;
  const int64_t before = skip.begin - owned.right.begin;
  const bool whole = before % batch_rows() == 0 &&
                     ((end - skip.begin) % batch_rows() == 0 || end == EndOf(owned));
  if (lossy && whole && skip.begin < end && skip.begin >= owned.taken_to) {
    Promise(owned, skip.begin, end, api::kToNobody);
  } else {
    Send(owned, /*forget=*/false);
  }
  AskMore();
}

}  // namespace millrace::delivery
