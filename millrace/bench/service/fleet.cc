#include "millrace/bench/service/fleet.h"

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/dispatcher/loop.h"

namespace millrace::bench {
namespace {

constexpr int64_t kLanesOfEach = 64;

// Asks all at once, and waits for all answers.
template <typename Reply, typename Request>
absl::StatusOr<std::vector<Reply>> AskAll(dispatcher::Loop& loop,
                                          const std::vector<Request>& requests) {
  std::vector<std::future<absl::StatusOr<Reply>>> answers;
  for (const Request& request : requests) {
    const auto promise = std::make_shared<std::promise<absl::StatusOr<Reply>>>();
    answers.push_back(promise->get_future());
    loop.Ask(request, [promise](absl::StatusOr<Reply> reply) {
      promise->set_value(std::move(reply));
    });
  }
  std::vector<Reply> replies;
  for (auto& answer : answers) replies.push_back(TRY(answer.get()));
  return replies;
}

template <typename Reply, typename Request>
absl::StatusOr<Reply> AskOne(dispatcher::Loop& loop, const Request& request) {
  return std::move(TRY((AskAll<Reply, Request>(loop, {request}))).front());
}

// What a worker says of all that it was given: done.
api::WorkerBeat DoneBeat(int64_t worker, const api::WorkerNews& news) {
  api::WorkerBeat beat{.worker = worker, .version = news.version};
  for (const api::AssignedLane& lane : news.assigned) {
    beat.lanes.push_back({.job = lane.job,
                          .incarnation = lane.incarnation,
                          .at = lane.at,
                          .rows = 1000,
                          .ended = true,
                          .released = true});
  }
  return beat;
}

}  // namespace

api::WorkerBeat Fleet::JoiningBeat(int64_t worker) {
  api::WorkerBeat beat{.worker = worker};
  beat.facts = {.worker = worker,
                .address = base::StrCat("10.0.0.1:", worker),
                .host = base::StrCat("host-", worker),
                .lanes_max = kLanesOfEach};
  return beat;
}

api::OpenJob Fleet::Opening() {
  api::OpenJob open;
  open.settings.name = "simulated";
  open.settings.pipeline = "none";
  open.run.id = "simulated";
  open.opening = 1;
  return open;
}

api::ConsumerBeat Fleet::NeedingBeat(int64_t lanes) const {
  api::ConsumerBeat beat{.reader = reader_};
  for (int64_t lane = next_lane_; lane < next_lane_ + lanes; ++lane) {
    beat.needs.push_back({.at = {.pass = 0, .lane = lane}, .from = 0, .now = true});
  }
  return beat;
}

absl::StatusOr<std::unique_ptr<Fleet>> Fleet::Join(dispatcher::Loop& loop,
                                                   int64_t workers) {
  std::unique_ptr<Fleet> fleet(new Fleet(loop, workers));
  std::vector<api::WorkerBeat> beats;
  for (int64_t i = 1; i <= workers; ++i) beats.push_back(JoiningBeat(i));
  TRY(AskAll<api::WorkerNews>(loop, beats).status());
  TRY(fleet->OpenJob());
  return fleet;
}

absl::Status Fleet::OpenJob() {
  TRY(AskOne<api::OpenedJob>(loop_, Opening()).status());
  TRY(List());
  const api::OpenedJob opened = TRY(AskOne<api::OpenedJob>(loop_, Opening()));
  if (!opened.ready) {
    return absl::InternalError(
        base::StrCat("a simulated job waits for ", opened.waits_for));
  }
  reader_ = {.job = opened.job,
             .incarnation = opened.incarnation,
             .generation = opened.generation};
  return absl::OkStatus();
}

// Whoever is told to list the job's sources does.
absl::Status Fleet::List() {
  for (int64_t i = 1; i <= workers_; ++i) {
    const api::WorkerNews news =
        TRY(AskOne<api::WorkerNews>(loop_, api::WorkerBeat{.worker = i}));
    api::WorkerBeat beat{.worker = i, .version = news.version};
    for (const api::WorkerJob& job : news.jobs) {
      if (!job.manifest.empty()) continue;
      beat.listed.push_back(
          {.job = job.job, .facts = {.manifest = "none", .lanes = int64_t{1} << 40}});
    }
    if (!beat.listed.empty()) {
      return AskOne<api::WorkerNews>(loop_, beat).status();
    }
  }
  return absl::InternalError("no simulated worker was told to list the job");
}

absl::Status Fleet::RunLanes(int64_t lanes) {
  TRY(AskOne<api::ConsumerNews>(loop_, NeedingBeat(lanes)).status());
  std::vector<api::WorkerBeat> beats;
  for (int64_t i = 1; i <= workers_; ++i) beats.push_back({.worker = i});
  const std::vector<api::WorkerNews> news = TRY(AskAll<api::WorkerNews>(loop_, beats));
  int64_t placed = 0;
  for (size_t i = 0; i < beats.size(); ++i) {
    beats[i] = DoneBeat(beats[i].worker, news[i]);
    placed += std::ssize(beats[i].lanes);
  }
  TRY(AskAll<api::WorkerNews>(loop_, beats).status());
  next_lane_ += lanes;
  if (placed == lanes) return absl::OkStatus();
  return absl::InternalError(base::StrCat(placed, " lanes were placed, of ", lanes));
}

}  // namespace millrace::bench
