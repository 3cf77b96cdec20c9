// Pipelines with kernels and operators of plug-ins give the same rows however they run:
// plainly, rewritten, and by the engine on any number of threads.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::plugin {
namespace {

absl::StatusOr<std::vector<core::Block>> RunByEngine(const rewrite::Rewritten& pipeline,
                                                     int threads) {
  exec::Engine engine({.threads = threads});
  const std::unique_ptr<exec::Iterator> iterator =
      TRY(engine.Open(pipeline, ops::DefaultLibrary(), {}));
  std::vector<core::Block> blocks;
  while (std::optional<core::Block> block = TRY(iterator->Next())) {
    blocks.push_back(*std::move(block));
  }
  return blocks;
}

// Runs a pipeline in every way, and gives its rows.
core::Block SameInAllWays(const std::string& text) {
  const ir::Pipeline pipeline = exec::MustParse(text);
  const rewrite::Rewritten plain = rewrite::Unchanged(pipeline);
  const rewrite::Rewritten rewritten =
      *rewrite::Rewrite(pipeline, ops::DefaultLibrary().catalog(), {});
  const core::Block wanted = exec::Joined(*exec::RunAll(plain));
  EXPECT_TRUE(SameRows(exec::Joined(*exec::RunAll(rewritten)), wanted)) << text;
  for (const int threads : {1, 4}) {
    for (const rewrite::Rewritten& way : {plain, rewritten}) {
      const auto blocks = RunByEngine(way, threads);
      EXPECT_THAT(blocks, base::IsOk());
      if (!blocks.ok()) continue;
      EXPECT_TRUE(SameRows(exec::Joined(*blocks), wanted)) << text;
    }
  }
  return wanted;
}

constexpr char kRows[] = "%0 = range(stop=6000)\n";

TEST(PluggedPipelinesTest, KernelsAreTheSameOnAllThreads) {
  const core::Block rows = SameInAllWays(
      std::string(kRows) +
      "%1 = map(%0, function={code: soundex(text_join(\"a\", "
      "where(.value % 3 == 0, \"b\", \"l\"), to_text(.value))), n: sum_up(.value, "
      "by=1), list: break_rules(.value, rule=\"lists\"), drawn: normal(0.0, 1.0)})\n"
      "%2 = filter(%1, predicate={.code == \"A100\"})\n");
  EXPECT_EQ(rows.rows(), 2000);
}

TEST(PluggedPipelinesTest, RowsThatAreLeftOutAreTheSame) {
  const core::Block rows = SameInAllWays(
      std::string(kRows) +
      "%1 = map(%0, function={value: .value, code: soundex(where(.value % 100 == 7, "
      "\"7\", \"x\"))})\n"
      "%2 = row_wise(%1, rule=\"bad\")\n"
      "%3 = ignore_errors(%2)\n"
      "%4 = batch(%3, size=7)\n");
  EXPECT_GT(rows.rows(), 500);
}

TEST(PluggedPipelinesTest, AnErrorComesAfterTheSameRows) {
  const rewrite::Rewritten pipeline =
      exec::AsWritten(std::string(kRows) +
                      "%1 = map(%0, function={value: where(.value == 4321, 3, 1)})\n"
                      "%2 = row_wise(%1, rule=\"bad\")\n%3 = batch(%2, size=10)\n");
  for (const int threads : {1, 4}) {
    exec::Engine engine({.threads = threads});
    const auto iterator = *engine.Open(pipeline, ops::DefaultLibrary(), {});
    for (int batch = 0; batch < 432; ++batch) {
      ASSERT_THAT(iterator->Next(), base::IsOk()) << batch;
    }
    EXPECT_THAT(iterator->Next(), base::StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST(PluggedPipelinesTest, OperatorsWithStateSeeAllRowsInOrder) {
  const core::Block rows =
      SameInAllWays(std::string(kRows) +
                    "%1 = map(%0, function={value: .value, tens: .value // 10, drawn: "
                    "uniform(0.0, 1.0)})\n"
                    "%2 = run_lengths(%1, field=\"tens\")\n"
                    "%3 = map(%2, function={value: .value, length: .length, again: "
                    "uniform(0.0, 1.0)})\n");
  EXPECT_EQ(rows.rows(), 600);
}

TEST(PluggedPipelinesTest, OperatorsThatHoldDropOrRepeatRowsAreTheSame) {
  for (const std::string text :
       {"%1 = keep(%0, rule=\"lag\")\n", "%1 = more(%0, rule=\"twice\")\n",
        "%1 = row_wise(%0)\n%2 = batch(%1, size=3)\n%3 = unbatch(%2)\n",
        "%1 = shuffle(%0, window=100, seed=3)\n%2 = fewer(%1, rule=\"bad\")\n"
        "%3 = ignore_errors(%2)\n"}) {
    EXPECT_GT(SameInAllWays(kRows + text).rows(), 2000) << text;
  }
}

}  // namespace
}  // namespace millrace::plugin
