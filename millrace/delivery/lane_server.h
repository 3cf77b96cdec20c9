// The worker's side of delivery (protocol.md sections 2 and 4): which lanes it runs,
// what of them waits in buffers, and who is sent what. Pure: the worker tells what
// readers say and what its engine made, and does what the actions say; the simulator
// does the same on virtual time.
//
//   LaneServer server({.runs_max = 16, .buffer_bytes = 64 << 20});
//   server.OnHello(reader, hello);
//   server.OnWant(reader, want);
//   for (Action& action : server.TakeActions()) …   // StartRun, Pull, SendBatch, …
//
// A run makes one block for each Pull. What it made waits until every reader it is for
// was sent it; then it is dropped. A reader that comes back without it has the lane
// redone from there, so nothing here must survive.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/stream.h"
#include "millrace/lanes/lane_set.h"

namespace millrace::delivery {

enum class RunId : int64_t {};
enum class ReaderId : int64_t {};
enum class Token : int64_t {};  // A block that the worker holds.

// A lane of one start of a job.
struct JobLane {
  int64_t job = 0;
  int64_t incarnation = 0;
  api::LaneAddress at;

  auto operator<=>(const JobLane&) const = default;
};

// What a run made: rows of its lane.
struct Made {
  int64_t begin = 0;
  int64_t end = 0;
  bool tail = false;
  int64_t bytes = 0;
  base::Hash128 digest_before = {};  // Of none: nothing is known.
  base::Hash128 digest = {};
  Token token = {};
  int64_t key = -1;                 // Of a batch, where lanes give runs.
  std::vector<int64_t> tails = {};  // Of a tail then: its rows, by key.
};

struct StartRun {
  RunId run = {};
  JobLane lane;
  int64_t from = 0;  // The first row it makes.
};

struct StopRun {
  RunId run = {};
};

// The run may make one more block.
struct Pull {
  RunId run = {};
  bool needed = false;  // Somebody waits for it; else it is made ahead.
};

// Somebody has come to wait for the block that was to be made ahead.
struct Hurry {
  RunId run = {};
};

// Rows begin, ..., end - 1 of the lane, which are in a block.
struct SendBatch {
  ReaderId reader = {};
  api::BatchHead head;
  Token token = {};
  int64_t skip = 0;  // Rows of the block before them.
};

struct SendEnd {
  ReaderId reader = {};
  api::LaneEnd end;
};

// Rows that it will not get.
struct SendSkip {
  ReaderId reader = {};
  api::LaneSkip skip;
};

struct SendFailure {
  ReaderId reader = {};
  api::LaneFailure failure;
};

// The reader is told why, and its stream closed.
struct Refuse {
  ReaderId reader = {};
  std::string reason;
};

struct Drop {
  Token token = {};
};

using ServerAction = std::variant<StartRun, StopRun, Pull, SendBatch, SendEnd, SendSkip,
                                  SendFailure, Refuse, Drop, Hurry>;

struct Assignment {
  int64_t from = 0;     // The first row that is needed.
  int64_t members = 1;  // Of each consumer: so many read the same.
  bool now = false;     // Consumers wait for it, or for what is learnt by running it.
};

struct LaneServerOptions {
  int64_t runs_max = 16;              // Lanes being made at once.
  int64_t buffer_bytes = 64LL << 20;  // Of one lane, made and not sent.
};

// What happened to a lane here, for the dispatcher.
struct LaneNews {
  JobLane lane;
  int64_t rows = 0;       // Made so far.
  bool ended = false;     // And no more.
  bool released = false;  // Every row was sent to all who read it.
  absl::Status failed = {};
  std::vector<int64_t> tails = {};  // Once it has ended, where lanes give runs.

  bool operator==(const LaneNews&) const = default;
};

class LaneServer {
 public:
  explicit LaneServer(const LaneServerOptions& options) : options_(options) {}

  // The dispatcher wants a lane to be run: readers will come. It says so again and
  // again, as the first row that is needed moves on.
  void Assign(const JobLane& lane, const Assignment& assignment);

  // The dispatcher has given it to somebody else, or nobody needs it.
  void Unassign(const JobLane& lane);

  // Jobs with the same share have their lanes made once, for all of them; empty: it
  // shares with nobody.
  void SetShare(int64_t job, const std::string& share);

  // The starts of a job before this one are over.
  void EndBefore(int64_t job, int64_t incarnation);

  // Refuses what was taken over meanwhile, and what makes no sense. A reader's word
  // ends nobody else's lanes: that a job was started anew is the dispatcher's to say.
  void OnHello(ReaderId reader, const api::ReaderHello& hello, int64_t members);
  void OnMessage(ReaderId reader, const api::ReaderMessage& message);
  void OnReaderGone(ReaderId reader);

  // What the engine tells of runs; of those that were stopped it changes nothing.
  void OnMade(RunId run, const Made& made);
  void OnEnded(RunId run, int64_t rows, const std::vector<int64_t>& tails = {});
  void OnFailed(RunId run, const absl::Status& status);

  // The run goes on behind rows that its job does without.
  void OnSkipped(RunId run, int64_t begin, int64_t end);

  // What is to be done, in order.
  std::vector<ServerAction> TakeActions() { return std::exchange(actions_, {}); }

  // What has changed since it was last asked.
  std::vector<LaneNews> TakeNews();

  // All lanes that are here or were, as far as the dispatcher has not taken them back:
  // for one that has forgotten them.
  std::vector<LaneNews> AllNews() const;

  // Lanes that are made now: one that several jobs share is one.
  int64_t runs() const { return std::ssize(slots_); }

  // Whether nobody needs any lane from here.
  bool idle() const { return lanes_.empty(); }

 private:
  struct Sent {
    ReaderId reader = {};
    int64_t begin = 0;
    int64_t end = 0;

    bool operator==(const Sent&) const = default;
  };

  struct Block {
    Made made;
    int64_t rows_to_send = 0;  // To all members; 0: all have had it before.
    std::vector<Sent> sent = {};
  };

  struct Skipped {
    int64_t end = 0;
    bool told = false;  // To who waits for some of it.
  };

  struct Waiting {
    ReaderId reader = {};
    api::Want want;  // What is still to be sent of it.
  };

  // A lane that is run here, or should be.
  struct Lane {
    int64_t members = 1;
    bool assigned = false;
    bool now = false;
    int64_t from = 0;                         // Where a run begins.
    std::optional<RunId> run = {};            // Makes it now.
    bool pulling = false;                     // The run was told to make one ...
    bool needed = false;                      // ... that somebody waits for.
    int64_t next = 0;                         // The row it makes next.
    int64_t made = 0;                         // Rows that are known to exist.
    std::optional<int64_t> rows = {};         // In all, once it is known.
    std::vector<int64_t> tails = {};          // Then: of them, by key.
    std::map<int64_t, Block> blocks = {};     // By first row.
    std::vector<int64_t> spent = {};          // Blocks that all have had, by first row.
    int64_t bytes = 0;                        // In them.
    lanes::LaneSet had;                       // Rows that were sent to all.
    std::map<int64_t, Skipped> skipped = {};  // Rows that nobody gets, by the first.
    std::vector<Waiting> waiting = {};
  };

  struct Reader {
    api::ReaderHello hello;
    int64_t members = 1;  // Of its consumer.
    int64_t wants = 0;    // That wait.
  };

  // A lane that all have had.
  struct Done {
    api::LaneEnd end;
    bool assigned = false;  // Else it is forgotten with its end.
  };

  // What the runs of all jobs that share a lane take up together.
  struct Slot {
    int64_t share = 0;  // Its number; 0: the job has its own.
    JobLane lane = {};  // Of the job; where it shares, of any.

    auto operator<=>(const Slot&) const = default;
  };

  struct Run {
    JobLane lane;
    Slot slot;
  };

  using Member = std::tuple<int64_t, int64_t, int64_t>;  // Job, consumer, member.

  Lane& Add(const JobLane& key, int64_t from, int64_t members);
  void AddMember(const api::ReaderHello& hello);
  std::string AddWant(ReaderId id, const api::Want& want);
  bool HasRoomFor(const JobLane& key) const;
  void CountServed(ReaderId reader, int64_t wants);
  void Serve(const JobLane& key);
  void SendReady(const JobLane& key);
  void TellEnd(ReaderId reader, const api::LaneEnd& end);
  bool ServeWant(Lane& lane, Waiting& waiting, const JobLane& key);
  bool TellSkipped(Lane& lane, Waiting& waiting, const JobLane& key);
  void SendRows(Lane& lane, Block& block, Waiting& waiting, const JobLane& key);
  void DropSent(Lane& lane);
  void Erase(Lane& lane, std::map<int64_t, Block>::iterator block);
  static std::optional<int64_t> Missed(const Lane& lane);
  static bool IsDone(const Lane& lane);
  void Stop(Lane& lane);
  void StopRunOf(Lane& lane);
  Slot SlotOf(const JobLane& key) const;
  bool HasSlotFor(const JobLane& key) const;
  bool IsNeeded(const Slot& slot) const;
  void EndRun(std::map<RunId, Run>::iterator run);
  void StartWaiting();
  bool MakeRoom();
  bool HasSlotBeyond(int64_t job) const;

  static bool IsNeeded(const Lane& lane) { return lane.now || !lane.waiting.empty(); }

  static bool IsNobodys(const Lane& lane) {
    return !lane.assigned && lane.waiting.empty();
  }

  void LetGoNobodys();
  void Start(const JobLane& key, Lane& lane);
  void PullMore(Lane& lane);
  void LetGoForStarved(Lane& lane);
  void LetGoBefore(Lane& lane, int64_t row);
  void Remember(const JobLane& key, const api::LaneEnd& end);

  LaneServerOptions options_;
  std::map<JobLane, Lane> lanes_;
  std::map<JobLane, Done> done_;
  std::map<JobLane, api::LaneEnd> ended_;  // Of the last lanes that all have had.
  std::deque<JobLane> ended_order_;        // The oldest first.
  std::map<ReaderId, Reader> readers_;
  std::map<RunId, Run> runs_;
  std::map<Slot, int64_t> slots_;            // Runs in each.
  std::map<std::string, int64_t> shares_;    // Their numbers.
  std::map<int64_t, int64_t> share_of_;      // Of jobs; 0: none.
  std::map<int64_t, int64_t> sharers_;       // Jobs of each.
  std::map<int64_t, int64_t> incarnations_;  // The latest of each job, as assigned.
  std::map<Member, int64_t> generations_;    // The latest of each.
  int64_t next_run_ = 0;
  std::vector<ServerAction> actions_;
  std::map<JobLane, LaneNews> news_;
};

}  // namespace millrace::delivery
