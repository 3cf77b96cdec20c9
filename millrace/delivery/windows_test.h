// Windows with an engine that counts rows, and runs that take what they are given; for
// tests. Whatever is given is checked: it is what the run asked for, it is held, and
// each block is dropped once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/service.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/ids.h"
#include "millrace/base/text.h"
#include "millrace/delivery/digests_test.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows.h"

namespace millrace::delivery {

// A job of which workers know that it shares its rows.
inline api::WorkerJob SharedJob(int64_t job, int64_t sharers, int64_t joins = 4) {
  api::WorkerJob shared{.job = job, .incarnation = 1, .manifest = "listed"};
  shared.share = "rows";
  shared.sharers = sharers;
  shared.joins = joins;
  return shared;
}

class WindowWorld {
 public:
  // What became of a run of the lane server.
  struct Run {
    JobLane lane;
    int64_t from = 0;
    int64_t next = 0;
    bool pulled = false;
    std::vector<Made> given = {};
    std::vector<std::pair<int64_t, int64_t>> skipped = {};
    bool over = false;
    int64_t rows = -1;  // Of the lane, once it was told.
    absl::Status failed = {};
  };

  explicit WindowWorld(int64_t budget_bytes, int64_t lane_rows = 18)
      : windows_({budget_bytes}), lane_rows_(lane_rows) {}

  void SetJobs(const std::vector<api::WorkerJob>& jobs) {
    for (const api::WorkerJob& job : jobs) jobs_[job.job] = job;
    windows_.SetJobs(jobs);
    Do();
  }

  RunId Start(int64_t job, int64_t lane = 0, int64_t from = 0) {
    const auto run = base::MakeId<RunId>(next_run_++);
    runs_[run] = {.lane = {job, 1, {0, lane, job}}, .from = from, .next = from};
    windows_.Start({run, runs_[run].lane, from});
    Do();
    return run;
  }

  // One more block; nothing where the lane is at its end.
  void Pull(RunId run, bool needed = true) {
    if (runs_.at(run).over || runs_.at(run).pulled) return;
    runs_.at(run).pulled = true;
    windows_.Pull(run, needed);
    Do();
  }

  void Hurry(RunId run) {
    windows_.Hurry(run);
    Do();
  }

  // Blocks that are being made for somebody who waits for them, and ahead.
  std::pair<int, int> needed_and_ahead() const {
    std::pair<int, int> both = {0, 0};
    for (const auto& [run, making] : makers_) {
      if (making.pulled) ++(making.needed ? both.first : both.second);
    }
    return both;
  }

  void Stop(RunId run) {
    runs_.at(run).over = true;
    windows_.Stop(run);
    Do();
  }

  void Advance(absl::Time now) {
    windows_.Advance(now);
    Do();
  }

  // Has the engine make what it was told to, all of it.
  void MakeAll() {
    while (MakeOne(0)) continue;
  }

  // Of the runs that were told to make a block, one does; tells whether there was one.
  bool MakeOne(int64_t choice) {
    std::vector<RunId> pulled;
    for (const auto& [id, making] : makers_) {
      if (making.pulled) pulled.push_back(id);
    }
    if (pulled.empty()) return false;
    Make(pulled[choice % std::ssize(pulled)]);
    return true;
  }

  bool FailOne() {
    for (const auto& [id, making] : makers_) {
      if (!making.pulled) continue;
      const RunId run = id;
      makers_.erase(run);
      windows_.OnFailed(run, absl::InternalError("it broke"));
      Do();
      return true;
    }
    return false;
  }

  // Pulls and makes until the run is at its end.
  void ReadAll(RunId run) {
    while (!runs_.at(run).over) {
      Pull(run);
      MakeAll();
    }
  }

  void Read(RunId run, int64_t blocks) {
    for (int64_t i = 0; i < blocks; ++i) {
      Pull(run);
      MakeAll();
    }
  }

  // The lane server lets go of all that it was given.
  void DropGiven() {
    for (const Token token : std::exchange(held_, {})) windows_.Drop(token);
    Do();
  }

  const Run& run(RunId id) const { return runs_.at(id); }

  const std::map<RunId, Run>& runs() const { return runs_; }

  Windows& windows() { return windows_; }

  int64_t made_rows() const { return made_rows_; }

  int64_t running() const { return std::ssize(makers_); }

  int64_t blocks() const { return std::ssize(blocks_); }

  api::JobVisits VisitsOf(int64_t job) const {
    for (const api::JobVisits& visits : windows_.Visits()) {
      if (visits.job == job) return visits;
    }
    return {};
  }

 private:
  struct Making {
    JobLane lane;
    int64_t next = 0;
    bool pulled = false;
    bool needed = false;
  };

  struct Rows {
    int64_t lane = 0;
    int64_t begin = 0;
    int64_t end = 0;
    bool stacked = false;
  };

  void Make(RunId id) {
    Making& making = makers_.at(id);
    making.pulled = false;
    const api::WorkerJob& job = jobs_.at(making.lane.job);
    const int64_t size = std::max<int64_t>(1, job.joins + job.grid);
    const int64_t begin = making.next;
    const int64_t end = std::min(lane_rows_, begin + size);
    if (begin >= lane_rows_) {
      makers_.erase(id);
      windows_.OnEnded(id, lane_rows_);
      return Do();
    }
    making.next = end;
    made_rows_ += end - begin;
    Made made{begin, end, end - begin < size, end - begin};
    made.digest_before = DigestAt(0, begin);
    made.digest = DigestAt(0, end);
    made.token = base::MakeId<Token>(next_token_++);
    blocks_[made.token] = {making.lane.at.lane, begin, end, !made.tail};
    windows_.OnMade(id, made);
    Do();
  }

  void Do() {
    for (auto actions = windows_.TakeActions(); !actions.empty();
         actions = windows_.TakeActions()) {
      for (const WindowAction& action : actions) DoOne(action);
    }
  }

  void DoOne(const WindowAction& action) {
    if (const auto* start = std::get_if<StartRun>(&action)) {
      makers_[start->run] = {start->lane, start->from};
    } else if (const auto* stop = std::get_if<StopRun>(&action)) {
      CHECK_EQ(makers_.erase(stop->run), 1);
    } else if (const auto* pull = std::get_if<delivery::Pull>(&action)) {
      CHECK(!std::exchange(makers_.at(pull->run).pulled, true));
      makers_.at(pull->run).needed = pull->needed;
    } else if (const auto* hurry = std::get_if<delivery::Hurry>(&action)) {
      CHECK(makers_.at(hurry->run).pulled);
      CHECK(!std::exchange(makers_.at(hurry->run).needed, true));
    } else if (const auto* drop = std::get_if<delivery::Drop>(&action)) {
      CHECK_EQ(blocks_.erase(drop->token), 1);
    } else if (const auto* compose = std::get_if<Compose>(&action)) {
      DoCompose(*compose);
    } else if (const auto* made = std::get_if<GiveMade>(&action)) {
      Take(made->run, made->made);
    } else if (const auto* end = std::get_if<GiveEnd>(&action)) {
      runs_.at(end->run).over = true;
      runs_.at(end->run).rows = end->rows;
    } else if (const auto* failure = std::get_if<GiveFailure>(&action)) {
      runs_.at(failure->run).over = true;
      runs_.at(failure->run).failed = failure->status;
    } else {
      const auto& skip = std::get<GiveSkip>(action);
      Run& run = runs_.at(skip.run);
      CHECK_EQ(skip.begin, run.next);
      run.next = skip.end;
      run.skipped.emplace_back(skip.begin, skip.end);
    }
  }

  void DoCompose(const Compose& compose) {
    Rows all;
    for (const BlockPart& part : compose.parts) {
      const Rows& rows = blocks_.at(part.token);
      const int64_t begin = rows.begin + part.skip;
      CHECK(part.rows > 0 && begin + part.rows <= rows.end);
      CHECK_EQ(part.stacked, rows.stacked);
      if (&part == compose.parts.data()) all = {rows.lane, begin, begin};
      CHECK_EQ(begin, all.end);
      all.end += part.rows;
    }
    all.stacked = compose.stacked;
    CHECK(blocks_.emplace(compose.token, all).second);
  }

  // What is given is what an engine's run of its own would have given.
  void Take(RunId id, const Made& made) {
    Run& run = runs_.at(id);
    CHECK(!run.over);
    CHECK(std::exchange(run.pulled, false));
    CHECK_EQ(made.begin, run.next);
    const Rows& rows = blocks_.at(made.token);
    CHECK_EQ(rows.lane, run.lane.at.lane);
    CHECK(rows.begin == made.begin && rows.end == made.end);
    CHECK_EQ(rows.stacked, !made.tail);
    const api::WorkerJob& job = jobs_.at(run.lane.job);
    const int64_t size = std::max<int64_t>(1, job.joins + job.grid);
    CHECK_EQ(made.end, std::min(lane_rows_, made.begin + size));
    CHECK_EQ(made.tail, made.end - made.begin < size);
    for (const auto& [digest, row] : {std::pair(made.digest_before, made.begin),
                                      std::pair(made.digest, made.end)}) {
      CHECK(digest == base::Hash128{} || digest == DigestAt(0, row));
    }
    run.next = made.end;
    run.given.push_back(made);
    held_.push_back(made.token);
  }

  Windows windows_;
  int64_t lane_rows_;
  std::map<int64_t, api::WorkerJob> jobs_;
  std::map<RunId, Run> runs_;
  std::map<RunId, Making> makers_;
  std::map<Token, Rows> blocks_;
  std::vector<Token> held_;  // By the lane server.
  int64_t made_rows_ = 0;
  int64_t next_run_ = 1000;
  int64_t next_token_ = 0;
};

}  // namespace millrace::delivery
