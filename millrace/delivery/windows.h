// Windows of a worker: what its engine makes, shared by all jobs that read the same
// rows. It stands between the lane server, which asks for runs of lanes as if each were
// its own, and the engine. A run of a job reads a *production*: what comes out of one
// lane for all jobs with the same share. What is in the production's window it gets at
// once; what comes next is made for it and kept for the others; what has fallen out is
// made again. Pure, as the lane server is.
//
//   Windows windows({.budget_bytes = 1 << 30});
//   windows.SetJobs(jobs);                         // As the dispatcher tells.
//   windows.Start(start); windows.Pull(run, true);  // As the lane server asks …
//   windows.OnMade(run, made);                     // … and the engine answers.
//   for (WindowAction& action : windows.TakeActions()) …
//
// A block is kept until all jobs of its group have had it and nobody behind will read
// it, or until the budget of all windows together is spent: the oldest goes first. A
// job that shares with nobody has nothing kept.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/base/sha256.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/lane_set.h"

namespace millrace::delivery {

// Rows of a block.
struct BlockPart {
  Token token = {};
  int64_t skip = 0;  // Rows of the block before them.
  int64_t rows = 0;
  bool stacked = false;  // The block is a batch.

  bool operator==(const BlockPart&) const = default;
};

// Makes a block of parts of others, before those may be dropped.
struct Compose {
  Token token = {};
  std::vector<BlockPart> parts;
  bool stacked = false;  // A batch; else rows, as they stand before batching.
};

// What a run of the lane server is told.
struct GiveMade {
  RunId run = {};
  Made made;
};

struct GiveEnd {
  RunId run = {};
  int64_t rows = 0;
  std::vector<int64_t> tails = {};
};

struct GiveFailure {
  RunId run = {};
  absl::Status status;
};

// Rows that it will not get: its job does without what has fallen out of the window.
struct GiveSkip {
  RunId run = {};
  int64_t begin = 0;
  int64_t end = 0;
};

// The first six are the engine's to do, whose runs have numbers of their own.
using WindowAction = std::variant<StartRun, StopRun, Pull, Hurry, Drop, Compose,
                                  GiveMade, GiveEnd, GiveFailure, GiveSkip>;

struct WindowOptions {
  int64_t budget_bytes = 1LL << 30;  // Of all windows together.
};

class Windows {
 public:
  explicit Windows(const WindowOptions& options) : options_(options) {}

  // The jobs that have lanes here; of those that are not among them nothing is kept.
  void SetJobs(const std::vector<api::WorkerJob>& jobs);

  // What the lane server asks for.
  void Start(const StartRun& start);
  void Stop(RunId run);
  void Pull(RunId run, bool needed);
  void Hurry(RunId run);
  void Drop(Token token);

  // What the engine tells of its runs; of those that were stopped it changes nothing.
  void OnMade(RunId run, const Made& made);
  void OnEnded(RunId run, int64_t rows, const std::vector<int64_t>& tails = {});
  void OnFailed(RunId run, const absl::Status& status);

  // Time goes on: who was held back long enough is held back no more.
  void Advance(absl::Time now);

  // When Advance is to be called next; InfiniteFuture: nobody is held back.
  absl::Time wakes() const;

  // What is to be done, in order.
  std::vector<WindowAction> TakeActions() { return std::exchange(actions_, {}); }

  // What each job that shares, or has, was given so far, and how far behind it is.
  std::vector<api::JobVisits> Visits() const;

  int64_t window_bytes() const { return bytes_; }

  // Whether nobody but the lane server has use for a block.
  bool IsLastUse(Token token) const { return uses_.at(token) == 1; }

 private:
  // Where rows come from: jobs with the same read the same.
  struct Key {
    base::Sha256 share;  // Of its name: compared all the time, copied without the heap.
    int64_t pass = 0;
    int64_t lane = 0;
    int64_t phase = 0;  // Of the grid that its batches lie on.

    auto operator<=>(const Key&) const = default;
  };

  // A block, and why it was made.
  struct Source {
    Made made;
    int64_t job = 0;     // For this one.
    bool again = false;  // Its rows had been made before.
  };

  // A block in a window.
  struct Kept {
    Source source;
    int64_t number = 0;          // Younger ones have higher.
    std::set<int64_t> had = {};  // Jobs.
  };

  using Window = std::map<int64_t, Kept>;  // By first row.

  // An engine's run.
  struct Maker {
    Key key;
    int64_t job = 0;  // That it makes the next block for.
    int64_t next = 0;
    bool pulling = false;
    bool needed = false;  // Somebody waits for that.
  };

  struct Production {
    Window window = {};
    std::set<RunId> makers = {};                 // The engine's.
    std::set<RunId> readers = {};                // The lane server's.
    lanes::LaneSet made = {};                    // Rows, ever.
    std::map<int64_t, lanes::LaneSet> had = {};  // Rows that jobs have had.
    std::optional<int64_t> rows = {};            // In all, once it is known.
    std::vector<int64_t> tails = {};             // Then: of them, by key.
  };

  // A run of the lane server.
  struct Reader {
    StartRun start;
    std::optional<Key> key = {};  // None: its job is not known yet.
    int64_t next = 0;             // The row that it is given next.
    int64_t at = 0;               // The row behind those that were collected for that.
    std::vector<BlockPart> parts = {};  // Collected, …
    std::vector<Source> sources = {};   // … and what they are parts of.
    bool pulled = false;
    bool needed = false;                  // Somebody waits for that.
    std::optional<absl::Time> held = {};  // Back, since then.
  };

  struct Job {
    int64_t incarnation = 0;
    base::Sha256 share = {};  // As keys have it; of nothing: with nobody.
    int64_t sharers = 1;
    int64_t joins = 0;
    int64_t grid = 0;
    bool skips = false;
    absl::Duration hold = {};
  };

  // Jobs and readers (windows.cc).
  const Job& JobOf(const Reader& reader) const;
  std::optional<Key> KeyOf(const StartRun& start) const;
  void Join(RunId id);
  void Leave(RunId id);
  int64_t SharersOf(const Key& key) const;
  void Settle(const Key& key);
  void StopUnneeded(Production& production);
  void StopMaker(RunId id);
  void RetryHeld();
  void Tidy(const Key& key);

  // What readers are given (window_readers.cc).
  void ServeAll(const Key& key);
  void Serve(RunId id);
  bool Collect(RunId id, Reader& reader);
  void Give(RunId id, Reader& reader, bool tail);
  void GiveRest(RunId id, Reader& reader);
  bool Skip(RunId id, Reader& reader);
  void Extend(RunId id, Reader& reader);
  bool IsHeld(RunId id, Reader& reader);
  void Count(const Reader& reader, const Source& source, int64_t rows);

  // What is kept (windows.cc).
  static Window::iterator Find(Window& window, int64_t row);
  void Keep(const Key& key, Production& production, const Source& source);
  void Forget(const Key& key, Production& production, Window::iterator kept);
  void ForgetHad(const Key& key, Production& production);
  bool IsNeeded(const Key& key, const Production& production, const Kept& kept) const;
  void Evict();

  void Use(Token token) { ++uses_[token]; }

  void Release(Token token);

  WindowOptions options_;
  std::map<int64_t, Job> jobs_;
  std::map<Key, Production> productions_;
  std::map<RunId, Maker> makers_;
  std::map<RunId, Reader> readers_;
  std::map<Token, int64_t> uses_;  // Of blocks: by windows, readers, the lane server.
  std::map<int64_t, std::pair<Key, int64_t>> kept_;  // By number: whose, first row.
  std::map<base::Sha256, int64_t> bytes_of_;         // In the windows of each share.
  std::deque<Key> idle_;  // Productions of which only counts are left, oldest first.
  std::set<RunId> held_;  // Readers that are held back.
  std::map<int64_t, api::JobVisits> visits_;  // By job.
  int64_t bytes_ = 0;                         // In all windows.
  int64_t next_number_ = 0;
  int64_t next_run_ = 0;
  int64_t next_token_ = -1;  // The engine's own are not negative.
  absl::Time now_ = absl::InfinitePast();
  std::vector<WindowAction> actions_;
};

}  // namespace millrace::delivery
