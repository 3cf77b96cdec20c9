// Where rows come from. A source is made once per pass, lists what there is, and then
// opens any number of readers, from any thread. A reader is a single-threaded object
// that gives the rows of one range, block by block; it owns no thread or lock, and its
// owner decides when each block is read, so that nothing is read that nobody has room
// for.
//
//   List ──► Open(range) ──► Fetch, Next, Fetch, Next, … nothing: the end
//             └─ any thread    └─ waits for the disk; Next and FetchNow never do
//                            Ahead, Ahead, … ──► fetched by any thread, in any order
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/expression.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::ops {

// What a source may know about where it runs.
struct SourceContext {
  core::Pool& pool;
  uint64_t seed = 0;  // Of the job.
  uint64_t epoch = 0;
  int64_t call_number = ir::kNoCallNumber;  // Of this source in the user's pipeline.
  bool with_ids = true;                     // Somebody needs the rows' identities.
  bool build_indexes = false;               // Beside files without, as they are read.
  int64_t row_bytes_max = std::numeric_limits<int64_t>::max();  // Longer is wrong.
  storage::BlobStore& blobs = storage::ProcessFiles();          // Where files are.
  // Set when nobody wants the rows any more: for sources that wait for others.
  const std::atomic<bool>* cancelled = nullptr;
};

// Where rows go, and those that are wrong, in the order of the rows.
class RowsSink : public BadRows {
 public:
  virtual absl::Status Give(core::Block block) = 0;
};

// Something on its way into memory before its reader asks for it. Done once, by any
// thread, one at a time; what goes wrong is told by the reader when it comes to it.
class FetchAhead {
 public:
  virtual ~FetchAhead() = default;

  virtual void Fetch() = 0;

  // Does as much of that as takes no waiting; tells whether it was all.
  virtual bool FetchNow() = 0;
};

// Rows that were found: what is still to be fetched of them, and what makes blocks of
// them then. Done once, on any thread.
struct FoundWork {
  std::vector<std::shared_ptr<FetchAhead>> wanted = {};
  absl::AnyInvocable<absl::Status(RowsSink&) &&> make = nullptr;

  FoundWork() = default;

  template <typename Make>
    requires std::is_invocable_r_v<absl::Status, Make, RowsSink&>
  FoundWork(Make make_rows)  // NOLINT(google-explicit-constructor): a work like any.
      : make(std::move(make_rows)) {}

  // Fetches what takes no waiting; tells whether that was all.
  bool FetchNow() const;

  // Waits for the rest of it.
  void Fetch() const;

  // Gives the rows, and waits for them where that was not done.
  absl::Status operator()(RowsSink& sink) &&;
};

class Reader {
 public:
  virtual ~Reader() = default;

  // Brings in what the next block is made from. All waiting for disks and networks
  // happens here; a source that computes its rows has nothing to fetch.
  virtual absl::Status Fetch() { return absl::OkStatus(); }

  // Does what Fetch does if that takes no waiting; else gives false, and Fetch is due.
  virtual absl::StatusOr<bool> FetchNow() { return false; }

  // Gives what is to be fetched behind all that was given before, while this goes on;
  // null where there is nothing more, or nobody knows yet. Fetch and FetchNow take
  // these up, in order, at most one a call, and want the first one left to be done.
  virtual std::shared_ptr<FetchAhead> Ahead() { return nullptr; }

  // How many of these were not taken up yet.
  virtual int64_t ahead() const { return 0; }

  // Gives the next rows; nothing at the end of the range. A block without rows says
  // that it takes another Fetch. Asks what is to become of rows that are wrong, each
  // after the rows before it were given.
  // Requires: Fetch came first, once for each call.
  virtual absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) = 0;

  // The same in two parts: finds the next rows, and gives what makes blocks of them,
  // which may run while this goes on to the rows behind.
  virtual absl::StatusOr<std::optional<FoundWork>> Find();
};

// A reader that finds rows; Next is made of that.
class FindingReader : public Reader {
 public:
  absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) override;
  absl::StatusOr<std::optional<FoundWork>> Find() override = 0;

 private:
  class Kept;

  // Found, not given yet; an error comes behind the rows before it.
  std::deque<std::variant<core::Block, BadRow, absl::Status>> kept_;
};

// Where a row stands, for people who look for it.
struct RowPlace {
  std::string file = {};                // Empty: it stands in none.
  int64_t row = 0;                      // Its number there.
  std::optional<int64_t> byte = {};     // Where it begins, unpacked, if rows do.
  std::optional<std::string> key = {};  // Its own name, if rows have one.

  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

// Rows of a file that have no place but their numbers; of no file where it is empty.
std::vector<RowPlace> PlacesByNumber(const std::string& file,
                                     absl::Span<const int64_t> rows);

class Source {
 public:
  virtual ~Source() = default;

  // Lists what there is to read, once, before all else.
  virtual absl::StatusOr<lanes::Manifest> List() = 0;

  // Tells whether its readers have anything to fetch. One that computes its rows, or
  // has them in memory, says no, and Fetch need not be called.
  virtual bool waits() const { return true; }

  // Says what people know a row by, where that is not its number in its split.
  virtual std::string NameOfRow(int64_t /*split*/, int64_t /*row*/) const { return ""; }

  // Finds rows of a split, in the order given. May read its file to find them: it is
  // for who looks into a few rows. By default they stand in no file.
  virtual absl::StatusOr<std::vector<RowPlace>> PlacesOf(
      int64_t split, absl::Span<const int64_t> rows) const;

  // Opens a reader of rows of one split, in order, with their identities where they
  // are asked for. Of a split that is not counted the range ends at lanes::kRowsMax,
  // and the reader ends with the split. Whether there is anything to wait for is told
  // by the first Fetch, not here.
  virtual absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const = 0;
};

// Some rows of a source: ranges, to be given in this order. Several are short and may
// stand anywhere in seekable splits.
using RowRanges = std::vector<lanes::RowRange>;

// Opens a reader of all of them. Requires: source and pool outlive it.
absl::StatusOr<std::unique_ptr<Reader>> OpenAll(const Source& source, RowRanges ranges,
                                                core::Pool& pool);

// The identity of a source's row.
inline core::RowId SourceRowId(int64_t call_number, int64_t split, int64_t row) {
  return {(static_cast<uint64_t>(call_number) << 48) | static_cast<uint64_t>(split),
          static_cast<uint64_t>(row)};
}

// Which row of a source it is.
struct SourceRow {
  int64_t split = 0;
  int64_t row = 0;

  friend bool operator==(const SourceRow&, const SourceRow&) = default;
};

// Undoes SourceRowId. Nothing where the identity says that it is of another source, or
// was made from other identities.
std::optional<SourceRow> SourceRowOf(const core::RowId& id, int64_t call_number);

// Gives a block the identities of rows begin, begin + 1, ... of a split, where the
// context asks for them.
absl::StatusOr<core::Block> WithSourceIds(const core::Block& block, int64_t split,
                                          int64_t begin, const SourceContext& context);

// The same for rows of these numbers. Requires: as many as the block has rows.
absl::StatusOr<core::Block> WithSourceIds(const core::Block& block, int64_t split,
                                          absl::Span<const int64_t> numbers,
                                          const SourceContext& context);

}  // namespace millrace::ops
