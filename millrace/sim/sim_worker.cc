#include "millrace/sim/sim_worker.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/ids.h"
#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/delivery/lane_report.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/sim/network.h"

namespace millrace::sim {
namespace {

using delivery::Token;

std::string DigestAt(const api::LaneAddress& at, int64_t row) {
  return base::StrCat(at.pass, ".", at.lane, "@", row);
}

}  // namespace

void SimWorker::OnNews(const api::WorkerNews& news) {
  if (news.join) join_ = true;
  if (news.join || news.version < version_) return;  // It overtook another.
  version_ = news.version;
  to_list_.clear();
  for (const api::WorkerJob& job : news.jobs) {
    if (job.manifest.empty()) to_list_.push_back(job.job);
  }
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
  for (delivery::ServerAction& action : server_.TakeActions()) {
    if (const auto* start = std::get_if<delivery::StartRun>(&action)) {
      runs_[start->run] = {start->lane, start->from};
      CHECK_LE(std::ssize(runs_), options_.runs_max);
    } else if (const auto* stop = std::get_if<delivery::StopRun>(&action)) {
      runs_.erase(stop->run);
    } else if (const auto* pull = std::get_if<delivery::Pull>(&action)) {
      runs_.at(pull->run).pulled = true;
    } else if (const auto* drop = std::get_if<delivery::Drop>(&action)) {
      CHECK_EQ(blocks_.erase(drop->token), 1);
    } else if (const auto* batch = std::get_if<delivery::SendBatch>(&action)) {
      Send(*batch);
    } else if (const auto* end = std::get_if<delivery::SendEnd>(&action)) {
      api::WorkerMessage message;
      message.end = end->end;
      send_(end->reader, message, {});
    }
  }
}

void SimWorker::Send(const delivery::SendBatch& batch) {
  Rows rows = blocks_.at(batch.token);
  rows.begin += batch.skip;
  rows.end = rows.begin + batch.head.end - batch.head.begin;
  api::WorkerMessage message;
  message.batch = batch.head;
  send_(batch.reader, message, rows);
}

void SimWorker::MakeOne(base::Generator& random) {
  if (runs_.empty()) return;
  const auto it = std::next(runs_.begin(), random.Integer(0, std::ssize(runs_)));
  const auto [id, run] = *it;
  if (!run.pulled) return;
  const api::LaneAddress at = run.lane.at;
  const int64_t left = truth_.RowsOf(at) - run.next;
  if (left <= 0) {
    runs_.erase(it);
    server_.OnEnded(id, truth_.RowsOf(at));
  } else {
    const int64_t end = run.next + std::min(left, truth_.batch_rows);
    it->second = {run.lane, end, false};
    const delivery::Made made{run.next,
                              end,
                              left < truth_.batch_rows,
                              end - run.next,
                              DigestAt(at, run.next),
                              DigestAt(at, end),
                              base::MakeId<Token>(next_token_++)};
    blocks_[made.token] = {at.pass, at.lane, run.next, end};
    server_.OnMade(id, made);
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
  for (const int64_t job : to_list_) {
    api::ListedJob listed{.job = job};
    listed.facts.manifest = "listed";
    listed.facts.counted = truth_.counted;
    listed.facts.batch_rows = truth_.batch_rows;
    listed.facts.lanes = std::ssize(truth_.lane_rows[0]);
    beat.listed.push_back(listed);
  }
  return beat;
}

}  // namespace millrace::sim
