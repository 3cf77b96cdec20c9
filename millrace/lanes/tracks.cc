#include "millrace/lanes/tracks.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/track_stream.h"

namespace millrace::lanes {
namespace {

using base::literals::operator""_GiB;

constexpr int64_t kTracksLeast = 16;
constexpr base::Bytes kOpenBytesMax = 4_GiB;

absl::Status CheckFact(const char* name, int64_t value, int64_t least) {
  if (value >= least && value <= kTracksMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(name, " must be ", least, " to ", kTracksMax, ", not ", value));
}

}  // namespace

absl::StatusOr<int64_t> TrackCount(const TrackFacts& facts) {
  TRY(CheckFact("consumers", facts.consumers, 1));
  TRY(CheckFact("open_lanes", facts.open_lanes, 0));
  if (facts.open_lanes > 0) return facts.open_lanes;
  const int64_t n = facts.consumers;
  const int64_t wanted = (std::max(kTracksLeast, n) + n - 1) / n * n;
  const int64_t lane_bytes = std::max<int64_t>(1, facts.lane_bytes.count());
  const int64_t fit = std::max<int64_t>(1, kOpenBytesMax.count() / lane_bytes);
  if (fit >= wanted) return wanted;
  return fit > n ? fit - fit % n : fit;  // A multiple gives every track one reader.
}

TrackOrder::TrackOrder(Rest rest, const Batching& batching)
    : rest_(std::move(rest)), batch_rows_(batching.rows) {
  CHECK(!rest_.tracks.empty());
  CHECK(rest_.turn >= 0 && rest_.turn < std::ssize(rest_.tracks)) << rest_.turn;
  for (const Track& track : rest_.tracks) {
    streams_.emplace_back(track, batch_rows_);
    counts_.push_back(streams_.back().batches());
    leftover_rows_ += streams_.back().leftover();
  }
  const bool short_last = leftover_rows_ % batch_rows_ > 0 && !batching.drop_remainder;
  leftover_batches_ = leftover_rows_ / batch_rows_ + (short_last ? 1 : 0);

  std::ranges::sort(counts_);
  const int64_t tracks = std::ssize(counts_);
  int64_t rounds = 0;
  int64_t positions = 0;
  for (int64_t i = 0; i < tracks; ++i) {
    positions += (counts_[i] - rounds) * (tracks - i);
    rounds = counts_[i];
    sums_.push_back(positions);
  }
}

int64_t TrackOrder::TrackOf(int64_t visit_number) const {
  return (rest_.turn + visit_number) % std::ssize(streams_);
}

// Between two neighbours of counts_ every round has as many visits: those tracks that
// have more batches.
TrackOrder::Visit TrackOrder::VisitOf(int64_t position) const {
  const auto next =
      std::ranges::partition_point(sums_, [&](int64_t sum) { return sum <= position; });
  CHECK(next != sums_.end()) << position;
  const int64_t done = next - sums_.begin();  // Tracks with no more batches.
  const int64_t rounds_before = done == 0 ? 0 : counts_[done - 1];
  const int64_t places = position - (done == 0 ? 0 : sums_[done - 1]);
  const int64_t tracks = std::ssize(streams_) - done;
  Visit visit{rounds_before + places / tracks, places % tracks};
  if (done == 0) return visit;
  // Counts the tracks that are passed over before that one.
  for (int64_t i = 0, left = visit.number;; ++i) {
    CHECK_LT(i, std::ssize(streams_));
    if (streams_[TrackOf(i)].batches() > rounds_before && left-- == 0) {
      visit.number = i;
      return visit;
    }
  }
}

std::vector<LaneRange> TrackOrder::At(int64_t position) const {
  CHECK(position >= 0 && position < positions()) << position;
  if (position < sums_.back()) {
    const Visit visit = VisitOf(position);
    return streams_[TrackOf(visit.number)].At(visit.round);
  }
  const int64_t begin = (position - sums_.back()) * batch_rows_;
  return Leftover(begin, begin + std::min(batch_rows_, leftover_rows_ - begin));
}

// Rows `begin` up to `end` of what all tracks leave, in track order.
std::vector<LaneRange> TrackOrder::Leftover(int64_t begin, int64_t end) const {
  std::vector<LaneRange> rows;
  for (const TrackStream& stream : streams_) {
    const int64_t from = std::clamp<int64_t>(begin, 0, stream.leftover());
    const int64_t to = std::clamp<int64_t>(end, 0, stream.leftover());
    const std::vector<LaneRange> part = stream.Leftover(from, to);
    rows.insert(rows.end(), part.begin(), part.end());
    begin -= stream.leftover();
    end -= stream.leftover();
  }
  return rows;
}

Rest TrackOrder::After(int64_t taken) const {
  CHECK(taken >= 0 && taken <= positions()) << taken;
  if (taken == 0) return rest_;
  if (taken > sums_.back()) {
    const int64_t batches = taken - sums_.back();
    const bool all = batches > leftover_rows_ / batch_rows_;
    return AfterLeftover(all ? leftover_rows_ : batches * batch_rows_);
  }
  const Visit last = VisitOf(taken - 1);
  Rest rest{rest_.deal, std::vector<Track>(streams_.size()), TrackOf(last.number + 1)};
  for (int64_t i = 0; i < std::ssize(streams_); ++i) {
    const int64_t track = TrackOf(i);
    const int64_t visits = last.round + (i <= last.number ? 1 : 0);
    rest.tracks[track] = streams_[track].After(visits);
  }
  return rest;
}

// What is left once so many rows were taken after the rounds. It comes in track order,
// so the turn begins anew.
Rest TrackOrder::AfterLeftover(int64_t rows) const {
  Rest rest{rest_.deal, {}, 0};
  for (const TrackStream& stream : streams_) {
    const int64_t taken = std::min(rows, stream.leftover());
    rest.tracks.push_back({stream.Leftover(taken, stream.leftover()), {}});
    rows -= taken;
  }
  return rest;
}

}  // namespace millrace::lanes
