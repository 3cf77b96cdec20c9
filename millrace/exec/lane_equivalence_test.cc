// Lanes that are run by themselves give, joined, what the sequential runner gives: on
// pipelines drawn at random over the whole catalog, from any row on, in any order.

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

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_ids.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/lane_runs_test.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/random_pipeline_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/tails.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/cutting.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

constexpr int kPipelines = 40;

core::Block Rows(const core::Block& all, int64_t begin, int64_t end) {
  return all.rows() == 0 ? all : all.Slice(begin, end - begin);
}

// Options with lanes of any size, where the pipeline may have many.
PassOptions DrawnLanes(const rewrite::Rewritten& pipeline, PassOptions options,
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

class LaneEquivalenceTest : public ::testing::TestWithParam<int> {
 protected:
  LaneEquivalenceTest()
      : text_(RandomPipeline(base::Generator(base::RandomKey(GetParam(), 5, 0), {}))
                  .Text()),
        pipeline_(*rewrite::Rewrite(MustParse(text_), ops::DefaultLibrary().catalog())),
        options_(DrawnLanes(pipeline_, {.seed = 11, .epoch = 3}, GetParam())),
        plain_(BeforeJoining(pipeline_, options_)),
        plan_(MustPlan(engine_, pipeline_, options_)),
        facts_(plan_->Facts()) {
    for (int64_t lane = 0; lane < plain_->lanes.size(); ++lane) {
      rows_.push_back(*PlainRows(plain_, lane));
    }
    if (facts_.join) {
      joiner_ = std::make_unique<TailJoiner>(
          *TailJoiner::Make(pipeline_, ops::DefaultLibrary(), options_));
    }
  }

  int64_t batch_rows() const { return facts_.join ? facts_.join->batch_rows : 0; }

  core::Block Batched(const core::Block& rows, bool ends_pass) const {
    const absl::StatusOr<JoinedTails> joined =
        joiner_->Join({rows}, {.ends_pass = ends_pass});
    CHECK(joined.ok()) << joined.status();
    return Joined(joined->batches);
  }

  // What a batch of a lane must be.
  void ExpectBatch(const LaneBatch& batch, int64_t lane) {
    const core::Block rows = Rows(rows_[lane], batch.begin_row, batch.end_row);
    const bool as_rows = batch.tail || !facts_.join;
    EXPECT_TRUE(core::SameRows(batch.block, as_rows ? rows : Batched(rows, false)))
        << "lane " << lane << " rows " << batch.begin_row << " to " << batch.end_row;
    lanes::Digest digest;
    AddIds(digest, rows_[lane], batch.end_row);
    EXPECT_EQ(digest, batch.digest) << "lane " << lane << " row " << batch.end_row;
  }

  // What a lane must give from a row on.
  void ExpectLane(const LaneLog& log, const LaneWork& work) {
    ASSERT_THAT(log.status, base::IsOk()) << text_;
    const int64_t rows = rows_[work.lane].rows();
    EXPECT_EQ(log.end.rows, rows) << text_;
    lanes::Digest digest;
    if (rows > 0) AddIds(digest, rows_[work.lane], rows);
    EXPECT_EQ(log.end.digest, digest) << text_;
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
    if (!facts_.join) {
      EXPECT_EQ(at, rows) << text_;
    }
  }

  Engine engine_{{.threads = 3}};
  std::string text_;
  rewrite::Rewritten pipeline_;
  PassOptions options_;
  std::shared_ptr<PassPlan> plain_;
  std::shared_ptr<LanePlan> plan_;
  JobFacts facts_;
  std::unique_ptr<TailJoiner> joiner_;
  std::vector<core::Block> rows_;  // By lane.
};

// With what follows this makes lanes equal to the definition.
TEST_P(LaneEquivalenceTest, RowsOfAllLanesJoinedAreThePass) {
  PassOptions options = options_;
  options.with_ids = true;
  const core::Block all = Joined(*RunAll(pipeline_, options));
  std::vector<core::Block> parts;
  for (const core::Block& rows : rows_) {
    if (rows.rows() > 0) parts.push_back(rows);
  }
  const core::Block rows = Joined(parts);
  const bool batched = facts_.join && rows.rows() > 0;
  EXPECT_TRUE(core::SameRows(all, batched ? Batched(rows, true) : rows)) << text_;
}

TEST_P(LaneEquivalenceTest, LanesAtOnceInAnyInterleavingGiveTheirRows) {
  base::Generator draw(base::RandomKey(GetParam(), 6, 0), {});
  const int64_t lanes = std::min<int64_t>(std::ssize(rows_), 12);
  std::vector<std::unique_ptr<LaneRun>> runs;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    runs.push_back(MustOpen(engine_, plan_, {.lane = lane}, {.buffer_bytes = 4096}));
  }
  std::vector<LaneLog> logs(lanes);
  for (int64_t left = lanes; left > 0;) {
    const int64_t lane = draw.Integer(0, lanes);
    if (runs[lane] == nullptr) continue;
    absl::StatusOr<std::optional<LaneBatch>> batch = runs[lane]->Next();
    ASSERT_THAT(batch.status(), base::IsOk()) << text_;
    if (batch->has_value()) {
      logs[lane].batches.push_back(**std::move(batch));
      continue;
    }
    logs[lane].end = runs[lane]->end();
    runs[lane] = nullptr;
    --left;
  }
  for (int64_t lane = 0; lane < lanes; ++lane) ExpectLane(logs[lane], {.lane = lane});
  EXPECT_EQ(engine_.memory().used_bytes, 0) << text_;
}

TEST_P(LaneEquivalenceTest, FromAnyRowOnALaneGoesOnTheSame) {
  base::Generator draw(base::RandomKey(GetParam(), 7, 0), {});
  for (int i = 0; i < 8 && !rows_.empty(); ++i) {
    LaneWork work = {.lane = draw.Integer(0, std::ssize(rows_))};
    const int64_t rows = rows_[work.lane].rows();
    work.from_row = i == 0 ? rows : draw.Integer(0, rows + 1);
    ExpectLane(Drain(*MustOpen(engine_, plan_, work)), work);
  }
}

INSTANTIATE_TEST_SUITE_P(Drawn, LaneEquivalenceTest, ::testing::Range(0, kPipelines));

}  // namespace
}  // namespace millrace::exec
