// A consumer's side of one pass in fixed order (protocol.md section 4): which rows make
// its next batch, what to ask of which worker, what is ready. Every consumer works this
// out by itself, from what it is told late; together they give exactly the plain loop
// over the tracks, and end in the same round. Pure, like the worker's side
// (lane_server.h).
//
//   FixedReader reader({.consumers = 8, .consumer = 3, .batching = {256}}, rest);
//   reader.OnPlaced(lane, worker);             // The dispatcher's news …
//   TRY(reader.OnBatch(head, token));          // … and what workers send.
//   if (reader.ready() == FixedReader::Ready::kBatch) batch = reader.Take();
//   for (ReaderAction& action : reader.TakeActions()) …
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/positions.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"

namespace millrace::delivery {

// How several consumers end together (protocol.md section 5).
enum class Remainder : uint8_t { kDrop, kPad, kKeep };

// What a word of a job's settings means.
Remainder RemainderOf(std::string_view word);

struct FixedReaderOptions {
  int64_t pass = 0;
  int64_t consumers = 1;
  int64_t consumer = 0;
  bool global_batch = false;  // Each takes its slice of every batch.
  lanes::Batching batching = {};
  Remainder remainder = Remainder::kDrop;
  bool counted = true;   // The rows of all lanes are known beforehand.
  bool endless = false;  // There are more lanes than were dealt: see wants_lanes.
  int64_t credit_bytes = 64LL << 20;  // That may wait here, asked for or received.
  int64_t batch_bytes = 1LL << 20;    // Of a batch, until some were seen.
};

class FixedReader final : public PassReader {
 public:
  // `whole` is all of the pass, dealt from its start: what the last round is padded
  // with. It may be empty where nothing is padded.
  FixedReader(const FixedReaderOptions& options, const lanes::Rest& rest,
              const lanes::Rest& whole = {});

  void OnPlaced(const api::LaneAddress& at, std::optional<WorkerId> worker) override;
  absl::Status OnKnown(int64_t lane, const lanes::KnownLane& known) override;
  absl::Status OnBatch(const api::BatchHead& head, Token token) override;
  absl::Status OnEnd(const api::LaneEnd& end) override;
  void OnFailed(WorkerId worker, const api::LaneAddress& at) override;
  void OnWorkerGone(WorkerId worker) override;
  Ready ready() const override;
  TakenBatch Take() override;
  void Leave() override;
  std::vector<LaneNeed> Needs() const override;
  std::optional<api::LaneAddress> waits_for() const override;
  std::vector<api::KnownRows> Known() const override;

  // No lane is left to open.
  bool MayBeginNext() const override;

  void WriteState(lanes::State& state) const override;

  int64_t taken() const override { return taken_batches_; }

  int64_t left_out_rows() const override { return left_out_rows_; }

  // Whether an endless pass must be dealt more lanes, one after the other.
  bool wants_lanes() const { return wants_lanes_; }

  void DealMore(const lanes::LaneRange& lane);

  // What is left of the pass behind what was taken: all consumers', as of this round.
  lanes::Rest rest() const { return taken_->rest(); }

 private:
  // A batch of this consumer, decided and not taken.
  struct Position {
    std::vector<lanes::LaneRange> rows;  // That are needed of it.
    int64_t batch = 0;        // The first row of the batch, where that is one range.
    int64_t all = 0;          // Rows, repeated up to that many.
    int64_t slice_begin = 0;  // Of these rows: this consumer's.
    int64_t slice_end = 0;
    int64_t valid = 0;  // Of the slice: the first so many.
    int64_t round = 0;
    bool asked = false;
  };

  // Rows that were, or are to be, asked for, and did not come yet.
  struct Ask {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t batch = 0;
  };

  struct Piece {
    int64_t end = 0;
    bool tail = false;
    int64_t bytes = 0;
    int64_t rows_left = 0;  // Not taken yet.
    Token token = {};
    int64_t key = -1;  // Where lanes give runs.
  };

  struct Lane {
    std::optional<WorkerId> worker = {};
    std::vector<Ask> asks = {};
    std::map<int64_t, Piece> pieces = {};  // By first row.
    int64_t asked_to = 0;                  // Alone, rows unknown: up to there.
    int64_t digest_row = -1;
    base::Hash128 digest = {};
  };

  void Advance();
  bool DecideOne();
  Position& AddPosition(std::vector<lanes::LaneRange> rows, int64_t all, int64_t valid);
  void DecideOfRun(std::vector<lanes::LaneRange> rows, int64_t number);
  void EndRounds();
  void EndShort(std::vector<lanes::LaneRange> rows);
  bool FillOne();
  void FillShort(const std::vector<lanes::LaneRange>& rows);
  void AskPositions();
  void AskAlone();
  void AddAsk(int64_t number, const Ask& ask);
  void CutAsks(int64_t number, int64_t end);
  void Send(int64_t number, const Lane& lane);
  bool IsHere(const lanes::LaneRange& range) const;
  void AskRest(const lanes::LaneRange& range);
  void TakeRows(const lanes::LaneRange& range, TakenBatch& batch);
  void StepTaken(int64_t round);
  void ForgetPassed();

  api::LaneAddress At(int64_t lane) const { return {pass(), lane}; }

  bool runs() const { return options_.batching.runs.has_value(); }

  // Nobody else reads, and nobody knows what lanes give.
  bool alone() const { return options_.consumers == 1 && !options_.counted; }

  int64_t round_positions() const {
    return options_.global_batch ? 1 : options_.consumers;
  }

  FixedReaderOptions options_;
  lanes::KnownLanes known_;
  std::unique_ptr<lanes::Positions> ahead_;  // Decides.
  std::unique_ptr<lanes::Positions> taken_;  // Follows what was taken.
  lanes::Rest whole_;
  std::unique_ptr<lanes::Positions> fill_;  // What the last round is padded with.
  int64_t fill_left_ = 0;                // So many positions of that are to be passed.
  std::vector<lanes::LaneRange> short_;  // A last batch that is to be filled up.
  std::deque<Position> positions_;
  std::map<int64_t, Lane> lanes_;
  bool ended_ = false;  // All positions are decided.
  int64_t rounds_ = 0;  // That may be taken: all of each is known to exist.
  bool wants_lanes_ = false;
  int64_t unknown_lane_ = -1;  // Whose rows are needed to decide.
  int64_t taken_batches_ = 0;
  int64_t round_rows_ = 0;  // Decided of the round that is not full yet.
  int64_t left_out_rows_ = 0;
  int64_t run_key_ = -1;  // Of the last batch of a lane that was taken.
  std::vector<std::vector<lanes::LaneRange>> round_;  // Decided of it, of runs.
  bool left_ = false;                                 // Nobody takes any more.
};

}  // namespace millrace::delivery
