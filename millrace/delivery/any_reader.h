// A consumer's side of one pass in any order (protocol.md section 3): which rights it
// has, what to ask of which worker, what is ready. It takes whatever batch is there,
// those of one right in order, and never beyond the horizon; it gives up what others
// lack, when it is asked to, and joins the tails of its lanes. Pure, like the worker's
// side (lane_server.h).
//
//   AnyReader reader({.batching = {256}}, lane_rows, taken);
//   reader.OnNews(news);                           // The dispatcher's rights …
//   TRY(reader.OnBatch(head, token));              // … and what workers send.
//   if (reader.ready() == AnyReader::Ready::kBatch) batch = reader.Take();
//   beat.passes.push_back(reader.Beat());          // What it promised and finished.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::delivery {

// What becomes of a lane whose worker is lost (protocol.md section 7).
enum class Visit : uint8_t {
  kExactlyOnce,  // It goes on elsewhere.
  kAtMostOnce,   // It is finished as it is.
  kAtLeastOnce,  // It is redone from the start of the right.
};

// What a word of a job's settings means.
Visit VisitOf(std::string_view word);

struct AnyReaderOptions {
  int64_t pass = 0;
  lanes::Batching batching = {};
  Visit visit = Visit::kExactlyOnce;
  bool endless = false;  // There are lanes without end, whose rows are not known.
  bool alone = false;    // The only consumer: there is nobody to end together with.
  int64_t credit_bytes = 64LL << 20;  // That may wait here, asked for or received.
  int64_t batch_bytes = 1LL << 20;    // Of a batch, until some were seen.
};

class AnyReader final : public PassReader {
 public:
  // `lane_rows` of all lanes of the pass; lanes::kRowsMax: not known beforehand.
  // `taken` is what its part of a state begins with.
  AnyReader(const AnyReaderOptions& options, std::vector<int64_t> lane_rows,
            lanes::Taken taken = {});

  // Tells whether news make sense here: rights of lanes that there are, each row in one
  // at most. InvalidArgument, and what is wrong, where they do not.
  absl::Status Check(const api::PassNews& news) const;

  // The dispatcher's news of this pass. Requires: not older than those before; Check.
  void OnNews(const api::PassNews& news);

  void OnPlaced(const api::LaneAddress& at, std::optional<WorkerId> worker) override;
  absl::Status OnKnown(int64_t lane, const lanes::KnownLane& known) override;
  absl::Status OnBatch(const api::BatchHead& head, Token token) override;
  absl::Status OnEnd(const api::LaneEnd& end) override;
  void OnFailed(WorkerId worker, const api::LaneAddress& at) override;

  // Rows that its worker will not send: they are given up, if they may be.
  void OnSkip(const api::LaneSkip& skip);
  void OnWorkerGone(WorkerId worker) override;
  Ready ready() const override;
  TakenBatch Take() override;
  void Leave() override;
  std::vector<LaneNeed> Needs() const override;
  std::optional<api::LaneAddress> waits_for() const override;
  std::vector<api::KnownRows> Known() const override;

  // All lanes of the pass are leased.
  bool MayBeginNext() const override { return leased_; }

  void WriteState(lanes::State& state) const override;

  int64_t taken() const override { return taken_batches_; }

  // What the dispatcher is to hear of this pass; less the facts.
  api::PassBeat Beat() const;

  // The dispatcher has heard of the pass.
  bool begun() const { return begun_; }

  // Nobody needs anything of it any more: once it has ended it may be forgotten.
  bool settled() const { return settled_; }

  int64_t horizon() const { return horizon_; }

  // Whether it may take one more of what is its own: up to the horizon; who is alone,
  // whatever is ready, until all is counted.
  bool MayTake() const {
    return taken_batches_ < horizon_ || (options_.alone && !final_);
  }

  // This consumer's part of the state.
  const lanes::Taken& taken_rows() const { return taken_rows_; }

  // The rights that it may still take of, less what it promised.
  std::vector<lanes::LaneRange> Held() const;

 private:
  // Rows that were, or are to be, asked for, and did not come yet.
  struct Asked {
    int64_t begin = 0;
    int64_t end = 0;
  };

  struct Owned {
    api::Right right = {};
    int64_t taken_to = 0;  // The row that is taken next.
    int64_t asked_to = 0;
    std::optional<WorkerId> worker = {};
    std::vector<Asked> asks = {};
    std::vector<api::Promise> promises = {};
    bool redo = false;  // To be redone; until it is, nothing is taken of it.
    int64_t digest_row = -1;
    base::Hash128 digest = {};
  };

  struct Piece {
    int64_t end = 0;
    bool tail = false;
    int64_t bytes = 0;
    Token token = {};
  };

  using Pieces = std::map<int64_t, Piece>;  // By first row.

  // A batch that is ready.
  enum class Kind : uint8_t { kWhole, kJoined, kDealt, kFill };

  struct Choice {
    Kind kind = Kind::kWhole;
    int64_t number = 0;  // kWhole: of this right; kDealt: this group.
  };

  // What it owns (any_reader.cc).
  int64_t EndOf(const Owned& owned) const;
  int64_t LimitOf(const Owned& owned) const;
  int64_t WholeEnd(const Owned& owned) const;
  int64_t TailBegin(const Owned& owned) const;
  int64_t ReceivedTo(const Owned& owned) const;
  bool HasLeft(const Owned& owned) const;
  absl::Status CheckRight(const api::Right& right) const;
  void SyncRights(const std::vector<api::Right>& rights);
  void CutAsks(Owned& owned);
  void Forget(const Owned& owned);
  void SkipHere(Owned& owned);
  void Purge(int64_t lane);
  void Add(int64_t lane, const api::BatchHead& head, Token token);

  void AskMore();
  void DropAll();
  bool IsFarAhead(const Owned& owned) const;
  bool AskOf(Owned& owned, int64_t batches);
  void Send(const Owned& owned, bool forget);
  void AdvanceFill();

  // What it takes (any_taking.cc).
  std::optional<Choice> Choose() const;
  bool IsFillReady() const;
  int64_t TailRowsHere(const Owned& owned) const;
  void TakeRows(Owned& owned, int64_t rows, TakenBatch& batch);
  void TakeJoined(TakenBatch& batch);
  void TakeFill(TakenBatch& batch);

  // What it gives up (any_giving.cc).
  void Give(const api::PassNews& news);
  void GiveTails(int64_t rows);
  int64_t GiveBatches(const api::Ask& ask);
  void GiveLane(int64_t to);
  void Promise(Owned& owned, int64_t begin, int64_t end, int64_t to);
  void LoseWorkerOf(Owned& owned);

  api::LaneAddress At(const api::Right& right) const {
    return {pass(), right.lane, right.number};
  }

  int64_t batch_rows() const { return options_.batching.rows; }

  AnyReaderOptions options_;

  bool HasLane(int64_t lane) const {
    const int64_t lanes = options_.endless ? lanes::kRowsMax : std::ssize(lane_rows_);
    return lane >= 0 && lane < lanes;
  }

  int64_t RowsOf(int64_t lane) const {
    return options_.endless ? lanes::kRowsMax : lane_rows_[lane];
  }

  std::vector<int64_t> lane_rows_;
  lanes::KnownLanes known_;
  std::map<int64_t, Owned> rights_;   // By number; what fills up has negative ones.
  std::map<int64_t, Pieces> pieces_;  // By lane.
  int64_t horizon_ = 0;
  bool final_ = false;
  bool leased_ = false;
  bool begun_ = false;
  bool settled_ = false;
  bool fills_ = false;     // A last batch, that does not count, is to be taken.
  int64_t fill_lane_ = 0;  // Lanes before that are in it.
  lanes::Taken taken_rows_;
  int64_t taken_batches_ = 0;
  bool left_ = false;  // Nobody takes any more.
};

}  // namespace millrace::delivery
