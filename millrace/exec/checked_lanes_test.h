// For tests: lanes that are run by themselves give, joined, what the sequential runner
// gives, from any row on, in any order. What each must give is made by the same
// operators on one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_ids.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/lane_runs_test.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/tails.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/cutting.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

inline core::Block Rows(const core::Block& all, int64_t begin, int64_t end) {
  return all.rows() == 0 ? all : all.Slice(begin, end - begin);
}

// Options with lanes of any size, where the pipeline may have many.
inline PassOptions DrawnLanes(const rewrite::Rewritten& pipeline, PassOptions options,
                              int seed) {
  base::Generator draw(base::RandomKey(seed, 8, 0), {});
  const PassOptions usual = options;
  options.cuts = PlanPass(pipeline, ops::DefaultLibrary(), options)->cuts;
  for (lanes::CutRecord& cut : options.cuts) {
    cut.lane_rows = draw.Integer(1, 400);
    cut.exact_ends = draw.Integer(0, 2) == 0;
  }
  const bool fits = PlanPass(pipeline, ops::DefaultLibrary(), options).ok();
  return fits ? options : usual;
}

// A pipeline, its lanes as the plain operators give them, and its lanes in an engine.
class Checked {
 public:
  Checked(const ir::Pipeline& pipeline, int seed)
      : text_(ir::Print(pipeline).text),
        pipeline_(*rewrite::Rewrite(pipeline, ops::DefaultLibrary().catalog())),
        options_(DrawnLanes(pipeline_, {.seed = 11, .epoch = 3}, seed)),
        draw_(base::RandomKey(seed, 6, 0), {}),
        plain_(BeforeJoining(pipeline_, options_)),
        plan_(MustPlan(engine_, pipeline_, options_)),
        facts_(plan_->Facts()) {
    for (int64_t lane = 0; lane < plain_->lanes.size(); ++lane) {
      rows_.push_back(PlainRows(plain_, lane));
    }
    if (facts_.join) {
      joiner_ = std::make_unique<TailJoiner>(
          *TailJoiner::Make(pipeline_, ops::DefaultLibrary(), options_));
    }
  }

  // Whether no row before the joining operator is wrong.
  bool IsGood() const {
    return std::ranges::all_of(rows_, [](const auto& rows) { return rows.ok(); });
  }

  // With what follows this makes lanes equal to the definition.
  void ExpectThatLanesMakeThePass() {
    PassOptions options = options_;
    options.with_ids = true;
    const absl::StatusOr<std::vector<core::Block>> all = RunAll(pipeline_, options);
    std::vector<core::Block> parts;
    for (const absl::StatusOr<core::Block>& rows : rows_) {
      if (rows->rows() > 0) parts.push_back(*rows);
    }
    const core::Block rows = Joined(parts);
    const absl::StatusOr<core::Block> batched =
        facts_.join && rows.rows() > 0 ? Batched(rows, true) : rows;
    ASSERT_EQ(all.ok(), batched.ok()) << all.status() << batched.status() << text_;
    if (!all.ok()) return;
    EXPECT_TRUE(core::SameRows(Joined(*all), *batched)) << text_;
  }

  // Reads lanes that are open at once, a batch here and a batch there.
  void ExpectLanesInAnyInterleaving() {
    const int64_t lanes = std::min<int64_t>(std::ssize(rows_), 12);
    std::vector<std::unique_ptr<LaneRun>> runs;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      runs.push_back(MustOpen(engine_, plan_, {.lane = lane}, {.buffer_bytes = 4096}));
    }
    std::vector<LaneLog> logs(lanes);
    for (int64_t left = lanes; left > 0;) {
      const int64_t lane = draw_.Integer(0, lanes);
      if (runs[lane] == nullptr || AddNext(*runs[lane], logs[lane])) continue;
      runs[lane] = nullptr;
      --left;
    }
    for (int64_t lane = 0; lane < lanes; ++lane) ExpectLane(logs[lane], {.lane = lane});
    EXPECT_EQ(engine_.memory().used_bytes, 0) << text_;
  }

  void ExpectLanesFromAnyRow(int times) {
    for (int i = 0; i < times && !rows_.empty(); ++i) {
      LaneWork work = {.lane = draw_.Integer(0, std::ssize(rows_))};
      const int64_t rows = rows_[work.lane]->rows();
      work.from_row = i == 0 ? rows : draw_.Integer(0, rows + 1);
      ExpectLane(Drain(*MustOpen(engine_, plan_, work)), work);
    }
  }

  // A lane fails where the plain operators do, and does so again.
  void ExpectTheErrorsOfLanes() {
    for (int64_t lane = 0; lane < std::min<int64_t>(std::ssize(rows_), 12); ++lane) {
      const absl::Status first =
          Drain(*MustOpen(engine_, plan_, {.lane = lane})).status;
      const absl::Status again =
          Drain(*MustOpen(engine_, plan_, {.lane = lane})).status;
      EXPECT_EQ(first.code(), again.code()) << text_;
      if (!rows_[lane].ok()) {
        EXPECT_EQ(first.code(), rows_[lane].status().code()) << text_;
      }
    }
    EXPECT_EQ(engine_.memory().used_bytes, 0) << text_;
  }

 private:
  int64_t batch_rows() const { return facts_.join ? facts_.join->batch_rows : 0; }

  absl::StatusOr<core::Block> Batched(const core::Block& rows, bool ends_pass) const {
    return Joined(TRY(joiner_->Join({rows}, {.ends_pass = ends_pass})).batches);
  }

  // Whether there was something.
  static bool AddNext(LaneRun& run, LaneLog& log) {
    absl::StatusOr<std::optional<LaneBatch>> batch = run.Next();
    log.status = batch.status();
    const bool there_is = batch.ok() && batch->has_value();
    if (there_is) log.batches.push_back(**std::move(batch));
    if (run.ended()) log.end = run.end();
    return there_is;
  }

  lanes::Digest DigestOf(int64_t lane, int64_t rows) const {
    lanes::Digest digest;
    if (rows > 0) AddIds(digest, *rows_[lane], rows);
    return digest;
  }

  // What a batch of a lane must be.
  void ExpectBatch(const LaneBatch& batch, int64_t lane) {
    const core::Block rows = Rows(*rows_[lane], batch.begin_row, batch.end_row);
    const bool as_rows = batch.tail || !facts_.join;
    EXPECT_TRUE(core::SameRows(batch.block, as_rows ? rows : *Batched(rows, false)))
        << "lane " << lane << " rows " << batch.begin_row << " to " << batch.end_row;
    EXPECT_EQ(batch.digest, DigestOf(lane, batch.end_row)) << "lane " << lane;
  }

  // What a lane must give from a row on.
  void ExpectLane(const LaneLog& log, const LaneWork& work) {
    ASSERT_THAT(log.status, base::IsOk()) << text_;
    const int64_t rows = rows_[work.lane]->rows();
    EXPECT_EQ(log.end.rows, rows) << text_;
    EXPECT_EQ(log.end.digest, DigestOf(work.lane, rows)) << text_;
    int64_t at = work.from_row;
    for (const LaneBatch& batch : log.batches) {
      ExpectBatch(batch, work.lane);
      // Operators behind the batching one may leave batches out.
      EXPECT_GE(batch.begin_row, at);
      at = batch.end_row;
      if (!facts_.join) continue;
      EXPECT_EQ((batch.begin_row - work.from_row) % batch_rows(), 0);
      EXPECT_EQ(batch.tail, batch.end_row - batch.begin_row < batch_rows());
    }
    const bool has_tail = facts_.join && (rows - work.from_row) % batch_rows() > 0;
    EXPECT_EQ(has_tail, !log.batches.empty() && log.batches.back().tail) << text_;
    EXPECT_TRUE(facts_.join || at == rows) << text_;
  }

  Engine engine_{{.threads = 3}};
  const std::string text_;
  const rewrite::Rewritten pipeline_;
  const PassOptions options_;
  base::Generator draw_;
  const std::shared_ptr<PassPlan> plain_;
  const std::shared_ptr<LanePlan> plan_;
  const JobFacts facts_;
  std::unique_ptr<TailJoiner> joiner_;
  std::vector<absl::StatusOr<core::Block>> rows_;  // By lane, before the joining one.
};

}  // namespace millrace::exec
