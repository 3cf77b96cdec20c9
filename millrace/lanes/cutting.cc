#include "millrace/lanes/cutting.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {
namespace {

using base::literals::operator""_MiB;

constexpr int64_t kBatchesPerLane = 32;
constexpr int64_t kBatchesPerBucket = 64;
constexpr int64_t kWindowsPerLane = 4;
constexpr int64_t kLaneRowsLeast = int64_t{64} << 10;
constexpr base::Bytes kLaneBytesLeast = 64_MiB;
constexpr int64_t kLanesWanted = 1000;
constexpr int64_t kFilesWanted = 256;
constexpr int64_t kFileRowsLeast = int64_t{1} << 20;
constexpr int64_t kLanesMax = int64_t{1} << 20;  // Keeps memory small at 2^60 rows.

int64_t DivideUp(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Multiplies numbers that are not negative, saturating.
int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &product);
  return overflow ? std::numeric_limits<int64_t>::max() : product;
}

absl::Status CheckFact(const char* name, int64_t value) {
  if (value >= 0 && value <= kRowsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("cutting lanes: absurd ", name, ": ", value));
}

// Whether lanes may be as long as files had better be.
bool MayBeFewer(const CutFacts& facts) { return facts.sinks && !facts.cut_shows; }

int64_t LanesWanted(const CutFacts& facts) {
  return MayBeFewer(facts) ? kFilesWanted : kLanesWanted;
}

// As many rows as 64 Ki or as 64 MiB of source, whichever is less.
int64_t LeastLaneRows(int64_t source_rows, base::Bytes source_bytes,
                      const CutFacts& facts) {
  const int64_t most = MayBeFewer(facts) ? kFileRowsLeast : kLaneRowsLeast;
  const int64_t row_bytes = DivideUp(source_bytes.count(), source_rows);
  if (row_bytes == 0) return most;
  return std::clamp<int64_t>(kLaneBytesLeast.count() / row_bytes, 1, most);
}

// Rows per lane before rounding, as architecture.md section 3 has it under "Cutting".
int64_t TargetRows(int64_t source_rows, base::Bytes source_bytes,
                   const CutFacts& facts) {
  if (source_rows == 0) return 1;
  const int64_t target = std::max({
      Times(kBatchesPerLane, facts.batch_rows),
      Times(Times(kBatchesPerBucket, facts.batch_rows), facts.buckets),
      Times(kWindowsPerLane, facts.shuffle_window),
      LeastLaneRows(source_rows, source_bytes, facts),
  });
  const int64_t reduced =
      std::max({facts.batch_rows, facts.shuffle_window, facts.run_rows,  // Never below.
                DivideUp(source_rows, LanesWanted(facts))});
  return std::max(std::min(target, reduced), DivideUp(source_rows, kLanesMax));
}

// Bytes per lane where rows are not known. A shuffle window in bytes is not known
// either, nor are runs, so lanes are as long as they may be where there is one.
base::Bytes TargetBytes(base::Bytes source_bytes, const CutFacts& facts) {
  if (!facts.one_lane_reason.empty()) return kSourceBytesMax;
  if (facts.shuffle_window > 0 || facts.run_rows > 0) return kLaneBytesLeast;
  const int64_t share = DivideUp(source_bytes.count(), LanesWanted(facts));
  return base::Bytes(std::clamp<int64_t>(share, 1, kLaneBytesLeast.count()));
}

CutRecord RecordOfUncounted(const Manifest& manifest, const CutFacts& facts) {
  return {.counted = false,
          .shuffled = facts.shuffled,
          .lane_bytes = TargetBytes(manifest.total_bytes(), facts)};
}

// A record can come from a file: its numbers are input like any other.
absl::Status CheckRecord(const Manifest& manifest, const CutRecord& record) {
  if (record.counted != manifest.counted()) {
    return absl::InvalidArgumentError(
        base::StrCat("cutting lanes: the record is of a source ",
                     record.counted ? "with" : "without", " row counts; this one ",
                     manifest.counted() ? "has" : "has not"));
  }
  if (record.permuted && !AllSeekable(manifest)) {
    return absl::FailedPreconditionError(
        "rows can be put in any order only where each can be reached by itself: index "
        "the files with `millrace data index`, or use shuffle with a window");
  }
  if (record.chunk.rows < 1 || record.chunk.bytes.count() < 1 || record.lane_rows < 1) {
    return absl::InvalidArgumentError(base::StrCat(
        "cutting lanes: absurd record: chunks of ", record.chunk.rows, " rows or ",
        record.chunk.bytes.count(), " bytes, lanes of ", record.lane_rows, " rows"));
  }
  // Without splits that can be cut there are no more lanes than splits.
  const bool cuts_splits =
      std::ranges::any_of(manifest.splits, [](const Split& s) { return s.seekable; });
  if (!record.counted || !cuts_splits) return absl::OkStatus();
  if (manifest.total_rows() / record.lane_rows > kLanesMax) {
    return absl::InvalidArgumentError(
        base::StrCat("cutting lanes: the record makes too many lanes, of ",
                     record.lane_rows, " rows"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CutRecord> DecideCut(const Manifest& manifest, const CutFacts& facts) {
  TRY(Check(manifest));
  TRY(CheckFact("batch size", facts.batch_rows));
  TRY(CheckFact("shuffle window", facts.shuffle_window));
  TRY(CheckFact("number of buckets", facts.buckets));
  TRY(CheckFact("number of rows in runs", facts.run_rows));
  if (!manifest.counted() && !facts.permuted) return RecordOfUncounted(manifest, facts);
  if (!manifest.counted())
    return CheckRecord(manifest, {.counted = false, .permuted = true});
  CutRecord record;
  record.shuffled = facts.shuffled;
  record.permuted = facts.permuted;
  record.chunk = ChooseChunkRule(manifest);
  record.lane_rows = TargetRows(manifest.total_rows(), manifest.total_bytes(), facts);
  if (!facts.one_lane_reason.empty()) {
    record.lane_rows = kRowsMax;
    return record;
  }
  record.exact_ends = facts.batch_rows > 0 && !facts.counts_change;
  if (record.exact_ends) {
    const int64_t batches = DivideUp(record.lane_rows, facts.batch_rows);
    record.lane_rows = batches * facts.batch_rows;  // Below 2^61: both are checked.
  }
  return record;
}

CutRecord CutByChunk(const Manifest& manifest) {
  CutRecord record = {
      .counted = manifest.counted(), .by_chunk = true, .lane_rows = kRowsMax};
  if (record.counted) record.chunk = ChooseChunkRule(manifest);
  return record;
}

absl::StatusOr<LaneList> LaneList::Cut(const Manifest& manifest,
                                       const CutRecord& record,
                                       const base::RandomKey& key) {
  TRY(Check(manifest));
  TRY(CheckRecord(manifest, record));
  ChunkTable chunks(manifest, record.chunk);
  if (chunks.chunks() > kChunksWanted + std::ssize(manifest.splits)) {
    return absl::InvalidArgumentError(base::StrCat(
        "cutting lanes: the record makes too many chunks: ", chunks.chunks()));
  }
  return LaneList(std::move(chunks), record, key);
}

LaneList::LaneList(ChunkTable chunks, const CutRecord& record,
                   const base::RandomKey& key)
    : chunks_(std::move(chunks)),
      shuffled_(record.shuffled),
      permuted_(record.permuted),
      permutation_(permuted_ ? chunks_.rows() : chunks_.chunks(), key) {
  if (permuted_) {
    CutPermutation(record);
  } else if (record.by_chunk) {
    CutChunks();
  } else if (record.counted) {
    CutByRows(record);
  } else {
    CutByBytes(record);
  }
}

void LaneList::CutChunks() {
  starts_.push_back({});
  for (int64_t place = 0; place < chunks_.chunks(); ++place) {
    EndLane(ChunkAt(place).rows(), {place + 1, 0});
  }
}

// A lane ends with the split that gives it its bytes.
void LaneList::CutByBytes(const CutRecord& record) {
  starts_.push_back({});
  base::Bytes bytes;
  for (int64_t place = 0; place < chunks_.chunks(); ++place) {
    bytes += chunks_.BytesOf(ChunkAt(place).split);
    if (bytes < record.lane_bytes && place + 1 < chunks_.chunks()) continue;
    EndLane(kRowsMax, {place + 1, 0});
    bytes = base::Bytes();
  }
}

// Fills lanes one after another. A lane ends as soon as it has its rows: inside a
// divisible chunk where ends are exact, or where what is left of the chunk would be
// more than a whole lane; else with the chunk.
void LaneList::CutByRows(const CutRecord& record) {
  starts_.push_back({});
  int64_t rows = 0;  // Of the lane being filled.
  for (int64_t place = 0; place < chunks_.chunks(); ++place) {
    const RowRange chunk = ChunkAt(place);
    const bool divisible = chunks_.Divisible(chunk);
    for (int64_t offset = 0; offset < chunk.rows();) {
      const int64_t left = chunk.rows() - offset;
      const bool cut = divisible && left > record.lane_rows - rows &&
                       (record.exact_ends || left > record.lane_rows);
      const int64_t taken = cut ? record.lane_rows - rows : left;
      offset += taken;
      rows += taken;
      if (rows < record.lane_rows) continue;
      EndLane(rows, cut ? Start{place, offset} : Start{place + 1, 0});
      rows = 0;
    }
  }
  if (rows > 0) EndLane(rows, {chunks_.chunks(), 0});
}

// Places are rows here, so every lane gets just its rows.
void LaneList::CutPermutation(const CutRecord& record) {
  starts_.push_back({});
  for (int64_t place = 0; place < chunks_.rows();) {
    const int64_t rows = std::min(record.lane_rows, chunks_.rows() - place);
    place += rows;
    EndLane(rows, {place, 0});
  }
}

void LaneList::EndLane(int64_t rows, Start next) {
  rows_.push_back(rows);
  starts_.push_back(next);
}

RowRange LaneList::ChunkAt(int64_t place) const {
  if (permuted_) return chunks_.RowAt(permutation_.At(place));
  return chunks_.Rows(shuffled_ ? permutation_.At(place) : place);
}

std::vector<RowRange> LaneList::Content(int64_t lane) const {
  CHECK(lane >= 0 && lane < size()) << lane;
  const Start begin = starts_[lane];
  const Start end = starts_[lane + 1];
  std::vector<RowRange> content;
  for (int64_t place = begin.place; place < end.place + (end.offset > 0 ? 1 : 0);
       ++place) {
    RowRange rows = ChunkAt(place);
    if (place == end.place) rows.end = rows.begin + end.offset;
    if (place == begin.place) rows.begin += begin.offset;
    content.push_back(rows);
  }
  return content;
}

base::Hash128 LaneList::ContentHash(int64_t lane) const {
  base::Hash128 hash;
  for (const RowRange& rows : Content(lane)) {
    hash = base::Combine(hash, chunks_.Hash(rows));
  }
  return hash;
}

base::Hash128 LaneList::VersionedContentHash(int64_t lane) const {
  base::Hash128 hash;
  for (const RowRange& rows : Content(lane)) {
    hash = base::Combine(hash, chunks_.VersionedHash(rows));
  }
  return hash;
}

std::vector<RowRange> Slice(const std::vector<RowRange>& content, int64_t begin,
                            int64_t end) {
  CHECK(begin >= 0 && begin <= end) << begin << " to " << end;
  std::vector<RowRange> slice;
  for (const RowRange& rows : content) {
    if (end <= 0) break;
    const int64_t from =
        rows.begin + std::min(std::max<int64_t>(begin, 0), rows.rows());
    const int64_t to = rows.begin + std::min(end, rows.rows());
    if (from < to) slice.push_back({rows.split, from, to});
    begin -= rows.rows();
    end -= rows.rows();
  }
  CHECK_LE(end, 0);  // Else the lane is shorter than that.
  return slice;
}

}  // namespace millrace::lanes
