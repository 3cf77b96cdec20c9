// What every operator promises, tried on pipelines drawn at random over the whole
// catalog. A failure prints the pipeline, which can be run by itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <regex>
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
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/random_pipeline_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/sequential_runner.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

constexpr int kPipelines = 48;

class ConformanceTest : public ::testing::TestWithParam<int> {
 protected:
  ConformanceTest()
      : drawn_(base::Generator(base::RandomKey(GetParam(), 0, 0), {})),
        text_(drawn_.Text()),
        pipeline_(MustParse(text_)) {}

  std::vector<core::Block> Run(const ir::Pipeline& pipeline) {
    return Run(rewrite::Unchanged(pipeline));
  }

  std::vector<core::Block> Run(const rewrite::Rewritten& pipeline) {
    absl::StatusOr<std::vector<core::Block>> blocks = RunAll(pipeline, options_);
    CHECK(blocks.ok()) << blocks.status() << "\n" << text_;
    return *std::move(blocks);
  }

  RandomPipeline drawn_;
  std::string text_;
  ir::Pipeline pipeline_;
  PassOptions options_ = {.seed = 11, .epoch = 3};
};

TEST_P(ConformanceTest, TheSpecIsWhatComesOut) {
  for (const core::Block& block : Run(pipeline_)) {
    EXPECT_THAT(core::CheckAdmits(pipeline_.spec(), block), base::IsOk()) << text_;
  }
}

TEST_P(ConformanceTest, TheCardinalityIsWhatComesOut) {
  int64_t rows = 0;
  for (const core::Block& block : Run(pipeline_)) rows += block.rows();
  // Of several batching operators the earlier ones flush short at lane ends: their
  // count holds only where lanes end on multiples of the batch.
  if (pipeline_.cardinality().known() && drawn_.batchings() < 2) {
    EXPECT_EQ(rows, pipeline_.cardinality().rows()) << text_;
  }
}

TEST_P(ConformanceTest, RunningAgainGivesTheSame) {
  EXPECT_TRUE(core::SameRows(Joined(Run(pipeline_)), Joined(Run(pipeline_)))) << text_;
}

TEST_P(ConformanceTest, PrintedAndParsedItRunsTheSame) {
  const ir::PipelineText printed = ir::Print(pipeline_);
  const ir::Pipeline parsed =
      *ir::Parse(printed.text, printed.attachments, ops::DefaultLibrary().catalog());
  EXPECT_EQ(ir::Print(parsed).text, printed.text);
  EXPECT_EQ(parsed.fingerprint(), pipeline_.fingerprint()) << text_;
  EXPECT_TRUE(core::SameRows(Joined(Run(pipeline_)), Joined(Run(parsed)))) << text_;
}

// What the engine gives for a pass, from a state where one is given.
std::vector<core::Block> Drain(Iterator& iterator) {
  std::vector<core::Block> blocks;
  while (true) {
    absl::StatusOr<std::optional<core::Block>> block = iterator.Next();
    CHECK(block.ok()) << block.status();
    if (!block->has_value()) return blocks;
    blocks.push_back(**std::move(block));
  }
}

TEST_P(ConformanceTest, TheEngineGivesTheSameWithAnyNumberOfThreads) {
  const core::Block plain = Joined(Run(pipeline_));
  const rewrite::Rewritten rewritten =
      *rewrite::Rewrite(pipeline_, ops::DefaultLibrary().catalog(), {});
  for (const int threads : {1, 2, 8}) {
    Engine engine({.threads = threads});
    for (const rewrite::Rewritten& either :
         {rewrite::Unchanged(pipeline_), rewritten}) {
      const auto iterator = *engine.Open(either, ops::DefaultLibrary(), options_);
      EXPECT_TRUE(core::SameRows(plain, Joined(Drain(*iterator))))
          << threads << " threads\n"
          << text_;
    }
    EXPECT_EQ(engine.memory().used_bytes, 0) << text_;
  }
}

TEST_P(ConformanceTest, AStateTakenAnywhereGoesOnFromThere) {
  const rewrite::Rewritten pipeline = rewrite::Unchanged(pipeline_);
  const std::vector<core::Block> all = Run(pipeline);
  Engine engine({.threads = 2});
  const auto iterator = *engine.Open(pipeline, ops::DefaultLibrary(), options_);
  const auto total = static_cast<int64_t>(Joined(all).rows());
  int64_t taken = 0;
  for (int64_t i = 0; true; ++i) {
    if (i % 7 == 0 || taken == total) {
      const auto resumed =
          *engine.Open(pipeline, ops::DefaultLibrary(), options_, iterator->state());
      const core::Block rest = Joined(Drain(*resumed));
      ASSERT_EQ(rest.rows(), total - taken) << "after " << i << "\n" << text_;
      if (rest.rows() > 0) {
        ASSERT_TRUE(core::SameRows(rest, Joined(all).Slice(taken, total - taken)))
            << "after " << i << "\n"
            << text_;
      }
    }
    const std::optional<core::Block> block = *iterator->Next();
    if (!block) break;
    taken += block->rows();
  }
  EXPECT_EQ(taken, total);
}

// Rewrites to leave out: none, and each.
std::vector<std::vector<std::string>> Choices() {
  std::vector<std::vector<std::string>> choices = {{}};
  for (const rewrite::Pass& pass : rewrite::AllPasses()) choices.push_back({pass.name});
  return choices;
}

TEST_P(ConformanceTest, EveryRewriteKeepsEveryRow) {
  const core::Block plain = Joined(Run(pipeline_));
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  for (const std::vector<std::string>& off : Choices()) {
    const rewrite::Rewritten rewritten =
        *rewrite::Rewrite(pipeline_, catalog, {.off = off});
    EXPECT_TRUE(core::SameRows(plain, Joined(Run(rewritten))))
        << rewrite::Explain(rewritten);
  }
}

// How a pass ended, and what it gave before.
struct Ending {
  std::vector<core::Block> blocks = {};
  absl::Status status = {};

  // The error, but for the operator's place, which is another after a rewrite.
  std::string Error() const {
    return std::regex_replace(status.ToString(), std::regex(R"( \(%\d+\))"), "");
  }
};

template <typename Pass>
Ending RunToItsEnd(Pass& pass) {
  Ending ending;
  while (true) {
    absl::StatusOr<std::optional<core::Block>> block = pass.Next();
    if (!block.ok()) ending.status = block.status();
    if (!block.ok() || !block->has_value()) return ending;
    ending.blocks.push_back(**std::move(block));
  }
}

Ending RunToItsEnd(const rewrite::Rewritten& pipeline, const PassOptions& options) {
  SequentialRunner runner =
      *SequentialRunner::Open(pipeline, ops::DefaultLibrary(), options);
  return RunToItsEnd(runner);
}

// A pipeline of which some rows may fail.
ir::Pipeline DrawnToFail(int seed) {
  const base::Generator draw(base::RandomKey(seed, 1, 0), {});
  return MustParse(RandomPipeline(draw, true).Text());
}

TEST_P(ConformanceTest, EveryRewriteKeepsEveryError) {
  const ir::Pipeline pipeline = DrawnToFail(GetParam());
  const Ending plain = RunToItsEnd(rewrite::Unchanged(pipeline), options_);
  for (const std::vector<std::string>& off : Choices()) {
    const rewrite::Rewritten rewritten =
        *rewrite::Rewrite(pipeline, ops::DefaultLibrary().catalog(), {.off = off});
    const Ending ending = RunToItsEnd(rewritten, options_);
    EXPECT_EQ(ending.Error(), plain.Error()) << rewrite::Explain(rewritten);
    EXPECT_TRUE(core::SameRows(Joined(plain.blocks), Joined(ending.blocks)))
        << rewrite::Explain(rewritten);
  }
}

// It cuts rows into other blocks, so that other rows come before the error.
TEST_P(ConformanceTest, TheEngineFailsWhereThePlainRunFails) {
  const ir::Pipeline pipeline = DrawnToFail(GetParam());
  const Ending plain = RunToItsEnd(rewrite::Unchanged(pipeline), options_);
  const rewrite::Rewritten rewritten =
      *rewrite::Rewrite(pipeline, ops::DefaultLibrary().catalog());
  Engine engine({.threads = 2});
  for (const rewrite::Rewritten& either : {rewrite::Unchanged(pipeline), rewritten}) {
    const auto iterator = *engine.Open(either, ops::DefaultLibrary(), options_);
    const Ending ending = RunToItsEnd(*iterator);
    EXPECT_EQ(ending.status.code(), plain.status.code()) << rewrite::Explain(either);
    if (!plain.status.ok()) continue;
    EXPECT_TRUE(core::SameRows(Joined(plain.blocks), Joined(ending.blocks)))
        << rewrite::Explain(either);
  }
}

INSTANTIATE_TEST_SUITE_P(Drawn, ConformanceTest, ::testing::Range(0, kPipelines));

}  // namespace
}  // namespace millrace::exec
