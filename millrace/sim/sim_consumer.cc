#include "millrace/sim/sim_consumer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/sim/network.h"

namespace millrace::sim {
namespace {

using delivery::FixedReader;
using delivery::Remainder;
using delivery::Token;

Remainder RemainderOf(const std::string& word) {
  if (word == "pad") return Remainder::kPad;
  return word == "keep" ? Remainder::kKeep : Remainder::kDrop;
}

}  // namespace

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

api::ReaderHello SimConsumer::hello() const {
  return {opened_.job, opened_.incarnation, open_.consumer, open_.member,
          opened_.generation};
}

// As far as anybody knows them beforehand.
std::vector<int64_t> SimConsumer::LaneRows(int64_t pass) const {
  std::vector<int64_t> rows = truth_.lane_rows[pass];
  if (!truth_.counted) rows.assign(rows.size(), lanes::kRowsMax);
  return rows;
}

lanes::Rest SimConsumer::Whole(int64_t pass) const {
  return lanes::DealAll(LaneRows(pass), opened_.tracks);
}

absl::Status SimConsumer::OnOpened(const api::OpenedJob& opened) {
  if (opened_.ready || !opened.ready) return absl::OkStatus();
  opened_ = opened;
  if (opened.state.empty()) return BeginPass(Whole(0));
  const lanes::State state = TRY(api::StateFromJson(opened.state));
  pass_ = state.pass;
  return BeginPass(TRY(lanes::Resume(state, LaneRows(pass_),
                                     {lanes::OrderKind::kFixed, opened.tracks})));
}

absl::Status SimConsumer::BeginPass(const lanes::Rest& rest) {
  delivery::FixedReaderOptions options{.pass = pass_};
  options.consumers = open_.settings.consumers;
  options.consumer = open_.consumer;
  options.global_batch = open_.settings.global_batch;
  options.batching = {truth_.batch_rows, false};
  options.remainder = RemainderOf(open_.settings.remainder);
  options.counted = truth_.counted;
  options.credit_bytes = credit_bytes_;
  options.batch_bytes = 1;
  reader_ = std::make_unique<FixedReader>(options, rest, Whole(pass_));
  held_.clear();
  Act();
  return absl::OkStatus();
}

std::string SimConsumer::State() const {
  lanes::State state;
  state.pass = pass_;
  state.order = {lanes::OrderKind::kFixed, opened_.tracks};
  lanes::SetRest(state, reader_->rest(), std::ssize(truth_.lane_rows[pass_]));
  return api::StateToJson(state);
}

std::string SimConsumer::Describe() const {
  std::string text =
      base::StrCat("\nconsumer ", open_.consumer, " member ", open_.member);
  if (reader_ == nullptr) return base::StrCat(text, " is not opened");
  text += base::StrCat(" pass ", pass_, done_ ? " done" : "", ", took ", taken_.size(),
                       ", needs");
  for (const delivery::LaneNeed& need : reader_->Needs()) {
    text += base::StrCat(" ", need.at.lane, "@", need.from, need.now ? "!" : "",
                         need.placed ? "" : "?");
  }
  return text;
}

absl::Status SimConsumer::OnNews(const api::ConsumerNews& news) {
  if (!news.failed.empty()) return absl::InternalError(news.failed);
  if (reader_ == nullptr || news.version < version_) return absl::OkStatus();
  version_ = news.version;
  tell_known_ = news.tell_known;
  for (const api::PlacedLane& placed : news.placed) {
    if (placed.at.pass != pass_) continue;
    std::optional<delivery::WorkerId> worker;
    if (placed.worker >= 0) worker = base::MakeId<delivery::WorkerId>(placed.worker);
    reader_->OnPlaced(placed.at.lane, worker);
  }
  for (const api::KnownRows& known : news.known) {
    if (known.at.pass != pass_) continue;
    TRY(reader_->OnKnown(known.at.lane, {known.rows, known.ended}));
  }
  Act();
  return absl::OkStatus();
}

absl::Status SimConsumer::OnWorker(const api::WorkerMessage& message,
                                   const Rows& rows) {
  if (reader_ == nullptr) return absl::OkStatus();
  if (message.batch) {
    const Token token = base::MakeId<Token>(next_token_++);
    held_[token] = rows;
    TRY(reader_->OnBatch(*message.batch, token));
  }
  if (message.end) TRY(reader_->OnEnd(*message.end));
  Act();
  return absl::OkStatus();
}

void SimConsumer::OnWorkerGone(int64_t worker) {
  if (reader_ == nullptr) return;
  reader_->OnWorkerGone(base::MakeId<delivery::WorkerId>(worker));
  Act();
}

void SimConsumer::Act() {
  for (delivery::ReaderAction& action : reader_->TakeActions()) {
    if (auto* send = std::get_if<delivery::SendWants>(&action)) {
      outgoing_.emplace_back(base::ToNumber(send->worker), std::move(send->message));
    } else {
      held_.erase(std::get<delivery::Drop>(action).token);
    }
  }
}

absl::Status SimConsumer::Step() {
  if (reader_ == nullptr || done_) return absl::OkStatus();
  if (reader_->ready() == FixedReader::Ready::kEnd) {
    if (!held_.empty()) return absl::InternalError("held what nobody needs");
    done_ = pass_ + 1 == std::ssize(truth_.lane_rows);
    if (done_) return absl::OkStatus();
    ++pass_;
    return BeginPass(Whole(pass_));
  }
  if (reader_->ready() != FixedReader::Ready::kBatch) return absl::OkStatus();
  const delivery::TakenBatch batch = reader_->Take();
  TakenRows taken{pass_, {}, batch.valid};
  for (const delivery::BatchPart& part : batch.parts) {
    const Rows& rows = held_.at(part.token);
    const int64_t begin = rows.begin + part.skip;
    // Only tails are joined; what fills a batch up may be anything.
    const bool joined = batch.parts.size() > 1 && open_.settings.remainder != "pad";
    if (begin + part.rows > rows.end || (joined && !part.tail)) {
      return absl::InternalError("parts that are not there, or not to be joined");
    }
    taken.rows.push_back({rows.lane, begin, begin + part.rows});
    if (part.last_use) held_.erase(part.token);
  }
  taken.rows =
      Slice(Repeat(taken.rows, batch.rows), batch.slice_begin, batch.slice_end);
  taken_.push_back(std::move(taken));
  Act();
  return absl::OkStatus();
}

api::ConsumerBeat SimConsumer::Beat() const {
  api::ConsumerBeat beat{.reader = hello(), .version = version_, .pass = pass_};
  for (const delivery::LaneNeed& need : reader_->Needs()) {
    beat.needs.push_back({need.at, need.from, need.now});
  }
  if (!tell_known_) return beat;
  for (int64_t lane = 0; lane < std::ssize(truth_.lane_rows[pass_]); ++lane) {
    const lanes::KnownLane known = reader_->known().Get(lane);
    if (known.rows == 0 && !known.ended) continue;
    beat.known.push_back({{pass_, lane}, known.rows, known.ended});
  }
  return beat;
}

}  // namespace millrace::sim
