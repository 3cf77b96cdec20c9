#include "millrace/sim/sim_consumer.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/job_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/run_turns.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"
#include "millrace/sim/network.h"

namespace millrace::sim {

using delivery::Token;

std::vector<lanes::LaneRange> Slice(const std::vector<lanes::LaneRange>& rows,
                                    int64_t begin, int64_t end) {
  std::vector<lanes::LaneRange> slice;
  int64_t before = 0;
  for (const lanes::LaneRange& range : rows) {
    const int64_t from = std::clamp<int64_t>(begin - before, 0, range.rows());
    const int64_t to = std::clamp<int64_t>(end - before, 0, range.rows());
    if (from < to) slice.push_back({range.lane, range.begin + from, range.begin + to});
    before += range.rows();
  }
  return slice;
}

std::vector<lanes::LaneRange> Repeat(const std::vector<lanes::LaneRange>& rows,
                                     int64_t count) {
  std::vector<lanes::LaneRange> repeated;
  while (count > 0) {
    for (const lanes::LaneRange& range : Slice(rows, 0, count)) {
      count -= range.rows();
      repeated.push_back(range);
    }
  }
  return repeated;
}

std::vector<lanes::LaneRange> Joined(const std::vector<lanes::LaneRange>& rows) {
  std::vector<lanes::LaneRange> joined;
  for (const lanes::LaneRange& range : rows) {
    const bool follows = !joined.empty() && joined.back().lane == range.lane &&
                         joined.back().end == range.begin;
    if (follows) {
      joined.back().end = range.end;
    } else {
      joined.push_back({range.lane, range.begin, range.end});
    }
  }
  return joined;
}

SimConsumer::SimConsumer(api::OpenJob open, const Truth& truth, int64_t credit_bytes)
    : open_(std::move(open)),
      truth_(truth),
      credit_bytes_(credit_bytes),
      job_({.counted = truth.counted, .credit_bytes = credit_bytes}) {}

api::ReaderHello SimConsumer::hello() const {
  return {opened_.job, opened_.incarnation, open_.consumer, open_.member,
          opened_.generation};
}

// --- Passes ---

std::vector<int64_t> SimConsumer::LaneRows(int64_t pass) const {
  std::vector<int64_t> rows = truth_.lane_rows[pass];
  if (!truth_.counted) rows.assign(rows.size(), lanes::kRowsMax);
  return rows;
}

lanes::OrderRecord SimConsumer::FixedOrder() const {
  return {lanes::OrderKind::kFixed, opened_.tracks, truth_.runs.has_value()};
}

absl::StatusOr<delivery::BegunPass> SimConsumer::FixedPass(
    int64_t pass, const std::optional<lanes::State>& state) const {
  delivery::FixedReaderOptions options{.pass = pass};
  options.consumers = open_.settings.consumers;
  options.consumer = open_.consumer;
  options.global_batch = open_.settings.global_batch;
  options.batching = truth_.BatchingFor(open_.settings);
  options.remainder = delivery::RemainderOf(open_.settings.remainder);
  options.counted = truth_.counted;
  options.credit_bytes = credit_bytes_;
  options.batch_bytes = 1;
  const lanes::Rest whole = lanes::DealAll(LaneRows(pass), opened_.tracks);
  lanes::Rest rest = whole;
  if (state) {
    rest = TRY(lanes::Resume(*state, LaneRows(pass), FixedOrder()));
    if (truth_.runs) TRY(lanes::CheckRuns(rest, *truth_.runs));
  }
  return delivery::BegunPass{
      std::make_unique<delivery::FixedReader>(options, rest, whole)};
}

absl::StatusOr<delivery::BegunPass> SimConsumer::AnyPass(
    int64_t pass, const std::optional<lanes::State>& state) const {
  const delivery::AnyReaderOptions options{
      .pass = pass,
      .batching = {truth_.batch_rows, false},
      .visit = delivery::VisitOf(open_.settings.visit),
      .alone = open_.settings.consumers == 1,
      .credit_bytes = credit_bytes_,
      .batch_bytes = 1,
  };
  lanes::Taken taken;
  if (state && open_.consumer == 0) {
    taken = TRY(lanes::TakenOf(*state, LaneRows(pass)));
  }
  api::PassFacts facts{.pass = pass, .batch_rows = truth_.batch_rows};
  facts.lanes = std::ssize(truth_.lane_rows[pass]);
  for (const int64_t rows : truth_.lane_rows[pass]) {
    if (truth_.counted) facts.rows.push_back({1, rows});
  }
  return delivery::BegunPass{
      std::make_unique<delivery::AnyReader>(options, LaneRows(pass), taken), facts};
}

absl::Status SimConsumer::BeginPass(int64_t pass) {
  std::optional<lanes::State> state;
  if (!opened_.state.empty()) state = TRY(api::StateFromJson(opened_.state));
  if (state && state->pass != pass) state.reset();
  job_.Begin(TRY(any() ? AnyPass(pass, state) : FixedPass(pass, state)));
  return absl::OkStatus();
}

absl::Status SimConsumer::BeginWanted() {
  const std::optional<int64_t> pass = job_.wants_pass();
  if (pass && *pass < std::ssize(truth_.lane_rows)) TRY(BeginPass(*pass));
  Do();
  return absl::OkStatus();
}

absl::Status SimConsumer::EndPass() {
  const int64_t pass = job_.pass();
  const bool holds = std::ranges::any_of(
      held_, [&](const auto& entry) { return entry.second.pass == pass; });
  if (holds) return absl::InternalError("held what nobody needs");
  done_ = pass + 1 == std::ssize(truth_.lane_rows);
  if (done_) return absl::OkStatus();
  if (!job_.has_begun(pass + 1)) TRY(BeginPass(pass + 1));
  job_.GoTo(pass + 1);
  Do();
  return absl::OkStatus();
}

// --- What it hears ---

absl::Status SimConsumer::OnOpened(const api::OpenedJob& opened) {
  if (opened_.ready || !opened.ready) return absl::OkStatus();
  opened_ = opened;
  const bool begun = !opened.state.empty();
  TRY(BeginPass(begun ? TRY(api::StateFromJson(opened.state)).pass : 0));
  Do();
  return absl::OkStatus();
}

absl::Status SimConsumer::OnNews(const api::ConsumerNews& news) {
  if (!opened()) return absl::OkStatus();
  std::map<int64_t, int64_t> horizons;
  for (const api::PassNews& pass : news.passes) {
    const delivery::AnyReader* const reader = job_.AnyOf(pass.pass);
    if (reader != nullptr) horizons[pass.pass] = reader->horizon();
  }
  TRY(job_.OnNews(news));
  for (const auto& [pass, horizon] : horizons) {
    const delivery::AnyReader* const reader = job_.AnyOf(pass);
    if (reader != nullptr && reader->horizon() < horizon) {
      return absl::InternalError("a horizon shrank");
    }
  }
  return BeginWanted();
}

absl::Status SimConsumer::OnWorker(int64_t worker, const api::WorkerMessage& message,
                                   const Rows& rows) {
  if (!opened()) return absl::OkStatus();
  const auto token = base::MakeId<Token>(next_token_++);
  if (message.batch) held_[token] = rows;
  TRY(job_.OnWorker(base::MakeId<delivery::WorkerId>(worker), message, token));
  return BeginWanted();
}

void SimConsumer::OnWorkerGone(int64_t worker) {
  if (!opened()) return;
  job_.OnWorkerGone(base::MakeId<delivery::WorkerId>(worker));
  Do();
}

void SimConsumer::Do() {
  for (delivery::ReaderAction& action : job_.TakeActions()) {
    if (auto* send = std::get_if<delivery::SendWants>(&action)) {
      outgoing_.emplace_back(base::ToNumber(send->worker), std::move(send->message));
    } else {
      held_.erase(std::get<delivery::Drop>(action).token);
    }
  }
}

// --- The training loop ---

absl::Status SimConsumer::Step() {
  if (!opened() || done_) return absl::OkStatus();
  const delivery::PassReader& reader = job_.current();
  if (reader.ready() == delivery::PassReader::Ready::kEnd) return EndPass();
  if (reader.ready() != delivery::PassReader::Ready::kBatch) return absl::OkStatus();
  TRY(Keep(job_.Take()));
  const delivery::AnyReader* const any = job_.AnyOf(job_.pass());
  if (any != nullptr && !any->MayTake() && any->taken() > any->horizon()) {
    return absl::InternalError("took beyond the horizon");
  }
  return BeginWanted();
}

absl::Status SimConsumer::Keep(const delivery::TakenBatch& batch) {
  TakenRows taken{job_.pass(), {}, batch.valid};
  for (const delivery::BatchPart& part : batch.parts) {
    const Rows& rows = held_.at(part.token);
    const int64_t begin = rows.begin + part.skip;
    // Only tails are joined; but what fills a batch up may be anything, and so may be
    // what batches of another size have left.
    const bool joined =
        batch.parts.size() > 1 && open_.settings.remainder != "pad" && !truth_.resized;
    if (begin + part.rows > rows.end || (joined && !part.tail)) {
      return absl::InternalError("parts that are not there, or not to be joined");
    }
    taken.rows.push_back({rows.lane, begin, begin + part.rows});
    if (part.last_use) held_.erase(part.token);
  }
  taken.rows =
      Slice(Repeat(taken.rows, batch.rows), batch.slice_begin, batch.slice_end);
  if (truth_.runs) taken.rows = Joined(taken.rows);
  taken_.push_back(std::move(taken));
  return absl::OkStatus();
}

// --- What it says ---

api::ConsumerBeat SimConsumer::Beat() {
  api::ConsumerBeat beat = job_.Beat();
  beat.reader = hello();
  return beat;
}

std::string SimConsumer::State() const {
  lanes::State state;
  state.pass = job_.pass();
  state.lanes = std::ssize(truth_.lane_rows[state.pass]);
  if (any()) {
    state.part = open_.consumer;
    state.parts = open_.settings.consumers;
  } else {
    state.order = FixedOrder();
  }
  job_.current().WriteState(state);
  return api::StateToJson(state);
}

std::string SimConsumer::Describe() const {
  std::string text =
      base::StrCat("\nconsumer ", open_.consumer, " member ", open_.member);
  if (!opened()) return base::StrCat(text, " is not opened");
  text += base::StrCat(" pass ", job_.pass(), done_ ? " done" : "", ", took ",
                       taken_.size(), ", needs");
  for (const delivery::LaneNeed& need : job_.Needs()) {
    text += base::StrCat(" ", need.at.pass, ":", need.at.lane, "/", need.at.right, "@",
                         need.from, need.now ? "!" : "", need.placed ? "" : "?");
  }
  const delivery::AnyReader* const any = job_.AnyOf(job_.pass());
  if (any == nullptr) return text;
  text += base::StrCat("; ", any->taken(), " of ", any->horizon(),
                       any->Beat().hungry ? " hungry" : "", ", promised ",
                       any->Beat().promises.size(), ", holds");
  for (const lanes::LaneRange& range : any->Held()) {
    text += base::StrCat(" ", range.lane, ":", range.begin, "-", range.end);
  }
  return text;
}

}  // namespace millrace::sim
