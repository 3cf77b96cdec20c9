#include "millrace/sim/sim_worker.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/ids.h"
#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/delivery/lane_report.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/reader_message.h"
#include "millrace/delivery/windows.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/order.h"
#include "millrace/sim/network.h"

namespace millrace::sim {
namespace {

using delivery::Token;

constexpr int64_t kJobsMost = 3;  // In one simulation.

base::Hash128 DigestAt(const api::LaneAddress& at, int64_t row) {
  const base::Hash128 lane = {static_cast<uint64_t>(at.pass),
                              static_cast<uint64_t>(at.lane)};
  return base::Combine(lane, static_cast<uint64_t>(row));
}

int64_t BatchRowsOf(const std::string& pipeline) {
  const std::string words = PipelineOf(0);
  return std::stoll(pipeline.substr(words.size() - 1));
}

}  // namespace

lanes::Batching Truth::BatchingFor(const api::JobSettings& settings) const {
  lanes::Batching batching{batch_rows, false, runs};
  if (!runs) return batching;
  batching.runs->consumers = settings.consumers;
  batching.runs->whole_rounds = settings.remainder == "drop";
  return batching;
}

std::string PipelineOf(int64_t batch_rows) {
  return base::StrCat("batches of ", batch_rows);
}

void SimWorker::OnNews(const api::WorkerNews& news) {
  if (news.join) join_ = true;
  if (news.join || news.version < version_) return;  // It overtook another.
  version_ = news.version;
  to_list_.clear();
  for (const api::WorkerJob& job : news.jobs) {
    batch_rows_[job.job] = BatchRowsOf(job.pipeline);
    if (job.manifest.empty()) to_list_[job.job] = job.pipeline;
    server_.SetShare(job.job, job.share);
  }
  windows_.SetJobs(news.jobs);
  assigned_.Take(news.assigned, server_);
  Act();
}

void SimWorker::OnReader(delivery::ReaderId reader, const api::ReaderMessage& message,
                         int64_t members) {
  if (message.hello) server_.OnHello(reader, *message.hello, members);
  server_.OnMessage(reader, message);
  Act();
}

void SimWorker::OnReaderGone(delivery::ReaderId reader) {
  server_.OnReaderGone(reader);
  Act();
}

void SimWorker::Act() {
  for (bool more = true; more;) {
    const std::vector<delivery::ServerAction> asked = server_.TakeActions();
    for (const delivery::ServerAction& action : asked) Do(action);
    const std::vector<delivery::WindowAction> actions = windows_.TakeActions();
    for (const delivery::WindowAction& action : actions) Do(action);
    more = !asked.empty() || !actions.empty();
  }
}

void SimWorker::Do(const delivery::ServerAction& action) {
  if (const auto* start = std::get_if<delivery::StartRun>(&action)) {
    windows_.Start(*start);
    // A job that has none at work gets one beyond the limit; readers of one may come
    // before the dispatcher tells of it.
    CHECK_LE(server_.runs(), options_.runs_max + kJobsMost);
  } else if (const auto* stop = std::get_if<delivery::StopRun>(&action)) {
    windows_.Stop(stop->run);
  } else if (const auto* pull = std::get_if<delivery::Pull>(&action)) {
    windows_.Pull(pull->run, pull->needed);
  } else if (const auto* hurry = std::get_if<delivery::Hurry>(&action)) {
    windows_.Hurry(hurry->run);
  } else if (const auto* drop = std::get_if<delivery::Drop>(&action)) {
    windows_.Drop(drop->token);
  } else if (const auto* batch = std::get_if<delivery::SendBatch>(&action)) {
    Send(*batch);
  } else if (const auto told = delivery::MessageOf(action)) {
    if (!told->message.refused) send_(told->reader, told->message, {});
  }
}

void SimWorker::Do(const delivery::WindowAction& action) {
  if (const auto* start = std::get_if<delivery::StartRun>(&action)) {
    runs_[start->run] = {start->lane, start->from};
  } else if (const auto* stop = std::get_if<delivery::StopRun>(&action)) {
    runs_.erase(stop->run);
  } else if (const auto* pull = std::get_if<delivery::Pull>(&action)) {
    runs_.at(pull->run).pulled = true;
  } else if (const auto* hurry = std::get_if<delivery::Hurry>(&action)) {
    CHECK(runs_.at(hurry->run).pulled);
  } else if (const auto* drop = std::get_if<delivery::Drop>(&action)) {
    CHECK_EQ(blocks_.erase(drop->token), 1);
  } else if (const auto* compose = std::get_if<delivery::Compose>(&action)) {
    DoCompose(*compose);
  } else if (const auto* made = std::get_if<delivery::GiveMade>(&action)) {
    server_.OnMade(made->run, made->made);
  } else if (const auto* end = std::get_if<delivery::GiveEnd>(&action)) {
    server_.OnEnded(end->run, end->rows, end->tails);
  } else if (const auto* skip = std::get_if<delivery::GiveSkip>(&action)) {
    server_.OnSkipped(skip->run, skip->begin, skip->end);
  }
}

void SimWorker::DoCompose(const delivery::Compose& compose) {
  Rows all = blocks_.at(compose.parts.front().token);
  all.begin += compose.parts.front().skip;
  all.end = all.begin;
  for (const delivery::BlockPart& part : compose.parts) {
    CHECK_EQ(blocks_.at(part.token).begin + part.skip, all.end);
    all.end += part.rows;
  }
  blocks_[compose.token] = all;
}

void SimWorker::Send(const delivery::SendBatch& batch) {
  Rows rows = blocks_.at(batch.token);
  rows.begin += batch.skip;
  rows.end = rows.begin + batch.head.end - batch.head.begin;
  api::WorkerMessage message;
  message.batch = batch.head;
  send_(batch.reader, message, rows);
}

// The next block of a run, whose lane has more.
delivery::Made SimWorker::Next(const Run& run) {
  const api::LaneAddress at = run.lane.at;
  const lanes::KnownLane lane = truth_.Of(at);
  const int64_t left = lane.rows - run.next;
  const int64_t batch_rows = batch_rows_.at(run.lane.job);
  delivery::Made made{.begin = run.next,
                      .end = run.next + std::min(left, batch_rows),
                      .tail = left < batch_rows};
  if (truth_.runs && run.next < lane.before_tails()) {
    made.key = truth_.KeyOf(at, run.next);
  } else if (truth_.runs) {
    made.end = lane.rows;
    made.tail = true;
    made.tails = lane.tails;
  }
  made.bytes = made.end - made.begin;
  made.digest_before = DigestAt(at, made.begin);
  made.digest = DigestAt(at, made.end);
  made.token = base::MakeId<Token>(next_token_++);
  return made;
}

void SimWorker::MakeOne(base::Generator& random, absl::Time now) {
  windows_.Advance(now);
  Act();
  if (runs_.empty()) return;
  const auto it = std::next(runs_.begin(), random.Integer(0, std::ssize(runs_)));
  const auto [id, run] = *it;
  if (!run.pulled) return;
  const api::LaneAddress at = run.lane.at;
  const lanes::KnownLane lane = truth_.Of(at);
  if (lane.rows <= run.next) {
    runs_.erase(it);
    windows_.OnEnded(id, lane.rows, lane.tails);
  } else {
    const delivery::Made made = Next(run);
    made_rows_ += made.end - made.begin;
    it->second = {run.lane, made.end, false};
    blocks_[made.token] = {at.pass, at.lane, made.begin, made.end};
    windows_.OnMade(id, made);
  }
  Act();
}

api::WorkerBeat SimWorker::Beat() {
  api::WorkerBeat beat{.worker = number_, .version = version_, .draining = draining_};
  beat.left = drained();
  if (join_) {
    beat.facts = api::WorkerFacts{.worker = number_, .lanes_max = options_.runs_max};
    join_ = false;
  }
  // A report may be lost, so all is told again and again: it is little.
  server_.TakeNews();
  for (const delivery::LaneNews& news : server_.AllNews()) {
    beat.lanes.push_back(delivery::ReportOf(news));
  }
  beat.visits = windows_.Visits();
  for (const auto& [job, pipeline] : to_list_) {
    api::ListedJob listed{.job = job, .pipeline = pipeline};
    listed.facts.manifest = "listed";
    listed.facts.counted = truth_.counted;
    listed.facts.batch_rows = BatchRowsOf(pipeline);
    if (truth_.runs) {
      listed.facts.group = truth_.runs->group;
    } else {
      listed.facts.rows_hash = "rows";
      listed.facts.joins = listed.facts.batch_rows;
    }
    listed.facts.lanes = std::ssize(truth_.lane_rows[0]);
    beat.listed.push_back(listed);
  }
  return beat;
}

}  // namespace millrace::sim
