// What every operator promises, tried on pipelines drawn at random over the whole
// catalog. A failure prints the pipeline, which can be run by itself.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/least_memory.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/random_pipeline_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/sequential_runner.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/dataset.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/packed_rows.h"
#include "millrace/profile/facts.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/storage/samples_test.h"

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

// Every row as text, in no order.
std::vector<std::string> RowTexts(const std::vector<core::Block>& blocks) {
  std::vector<std::string> texts;
  for (const core::Block& block : blocks) {
    for (int64_t row = 0; row < block.rows(); ++row) {
      std::string& text = texts.emplace_back();
      for (const core::Column& column : block.columns()) {
        text += base::StrCat(column.Row(row)->ToString(), "; ");
      }
    }
  }
  std::ranges::sort(texts);
  return texts;
}

// Of batches only the rows would be the same.
TEST_P(ConformanceTest, InAnyOrderTheRowsAreTheSameAlsoFromAState) {
  if (drawn_.batchings() > 0) GTEST_SKIP() << "has batches";
  const std::vector<std::string> plain = RowTexts(Run(pipeline_));
  PassOptions options = options_;
  options.order = Delivery::kAny;
  for (const int threads : {1, 8}) {
    Engine engine({.threads = threads});
    const auto open = [&](const std::optional<lanes::State>& state) {
      return *engine.Open(rewrite::Unchanged(pipeline_), ops::DefaultLibrary(), options,
                          state);
    };
    auto iterator = open({});
    std::vector<core::Block> blocks;
    for (int taken = 0;; ++taken) {
      std::optional<core::Block> block = *iterator->Next();
      if (!block) break;
      blocks.push_back(*std::move(block));
      if (taken % 3 == 2) iterator = open(iterator->state());
    }
    EXPECT_EQ(RowTexts(blocks), plain) << threads << " threads\n" << text_;
  }
}

// Takes operators that ignore errors out: in their place stands one that does nothing.
std::string WithoutIgnoring(const std::string& text) {
  std::string without;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t at = line.find("ignore_errors(");
    const bool ignores = at != absl::string_view::npos;
    const absl::string_view input = line.substr(at == std::string::npos ? 0 : at + 14);
    without += ignores ? absl::StrCat(line.substr(0, at), "filter(",
                                      input.substr(0, input.find(',')),
                                      ", predicate={true})\n")
                       : absl::StrCat(line, "\n");
  }
  return without;
}

// What a pass left out, by operator, and the errors it reports.
struct Account {
  std::map<int, int64_t> counts;  // By the operator's number, where there are any.
  std::vector<std::string> first;

  bool operator==(const Account&) const = default;
};

Account AccountOf(const Iterator& iterator) {
  const profile::PassFacts facts = iterator.Facts();
  Account account = {.counts = {}, .first = facts.first_left_out};
  for (const profile::OperatorFacts& of : facts.operators) {
    if (of.rows_left_out > 0) account.counts[of.number] = of.rows_left_out;
  }
  return account;
}

int64_t CountAt(const Account& account, int number) {
  const auto found = account.counts.find(number);
  return found == account.counts.end() ? 0 : found->second;
}

// The rows of a pass as the sequential runner gives them, with what it left out.
struct Pass {
  core::Block rows;
  Account account;
  absl::Status end;
};

Pass RunPlainly(const rewrite::Rewritten& pipeline, const PassOptions& options) {
  SequentialRunner runner =
      *SequentialRunner::Open(pipeline, ops::DefaultLibrary(), options);
  std::vector<core::Block> blocks;
  absl::StatusOr<std::optional<core::Block>> block = runner.Next();
  for (; block.ok() && block->has_value(); block = runner.Next()) {
    blocks.push_back(**std::move(block));
  }
  Account account = {.counts = {}, .first = runner.left_out().first()};
  const std::vector<int64_t>& counts = runner.left_out().counts();
  for (size_t place = 0; place < counts.size(); ++place) {
    if (counts[place] > 0) account.counts[static_cast<int>(place)] = counts[place];
  }
  return {.rows = Joined(blocks), .account = std::move(account), .end = block.status()};
}

Pass RunInEngine(Engine& engine, const rewrite::Rewritten& pipeline,
                 const PassOptions& options) {
  const auto iterator = *engine.Open(pipeline, ops::DefaultLibrary(), options);
  std::vector<core::Block> blocks;
  absl::StatusOr<std::optional<core::Block>> block = iterator->Next();
  for (; block.ok() && block->has_value(); block = iterator->Next()) {
    blocks.push_back(**std::move(block));
  }
  return {
      .rows = Joined(blocks), .account = AccountOf(*iterator), .end = block.status()};
}

// Everything is the same: rows, counts, messages, and how it ends.
void ExpectSamePass(const Pass& plain, const Pass& other, const std::string& text) {
  EXPECT_TRUE(core::SameRows(plain.rows, other.rows))
      << plain.rows.rows() << " and " << other.rows.rows() << "\n"
      << text;
  EXPECT_EQ(plain.account.counts, other.account.counts) << text;
  EXPECT_EQ(plain.account.first, other.account.first) << text;
  EXPECT_EQ(plain.end, other.end) << text;
}

TEST_P(ConformanceTest, TheEngineLeavesOutTheSameRows) {
  const rewrite::Rewritten pipeline = rewrite::Unchanged(pipeline_);
  const Pass plain = RunPlainly(pipeline, options_);
  for (const int threads : {1, 2, 8}) {
    Engine engine({.threads = threads});
    ExpectSamePass(plain, RunInEngine(engine, pipeline, options_), text_);
  }
}

// Without ignoring errors, or with a budget that does not suffice, a pass ends with the
// same error after the same rows.
TEST_P(ConformanceTest, TheEngineFailsAtTheSameRow) {
  const std::string budget = base::StrCat("budget=", GetParam() % 4, ", report=");
  for (const std::string& text :
       {WithoutIgnoring(text_), absl::StrReplaceAll(text_, {{"report=", budget}})}) {
    const rewrite::Rewritten pipeline = AsWritten(text);
    const Pass plain = RunPlainly(pipeline, options_);
    for (const int threads : {1, 2, 8}) {
      Engine engine({.threads = threads});
      ExpectSamePass(plain, RunInEngine(engine, pipeline, options_), text);
    }
  }
}

// Writes records of which some bits are flipped: a row's content, or the framing.
std::string DamagedRecords(uint64_t seed) {
  std::vector<std::string> records;
  records.reserve(400);
  for (int row = 0; row < 400; ++row) {
    records.push_back(storage::Noise(1 + (row * 7919) % 97, row));
  }
  std::string bytes = storage::TfrecordOf(records);
  base::Generator draw(base::RandomKey(seed, 1, 0), {});
  const int64_t flips = draw.Integer(0, 12);
  for (int64_t i = 0; i < flips; ++i) {
    const int64_t bit = draw.Integer(0, 8 * std::ssize(bytes));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
  return bytes;
}

TEST_P(ConformanceTest, DamagedFilesGiveTheSameRowsAndErrors) {
  const storage::TemporaryFolder folder;
  for (int file = 0; file < 3; ++file) {
    folder.Write(base::StrCat(file, ".tfrecord"),
                 DamagedRecords(100 * GetParam() + file));
  }
  for (const std::string ignore :
       {"ignore_errors(%3)", "ignore_errors(%3, budget=3)", "take(%3, count=100000)"}) {
    const std::string text = base::StrCat(
        "%0 = read_tfrecord(paths=[\"", folder / "*", "\"])\n",
        "%1 = map(%0, function={n: byte_length(.record)})\n",
        "%2 = map(%1, function={n: .n, q: 100 // (.n % 31)})\n",
        "%3 = shuffle(%2, window=50)\n%4 = ", ignore, "\n%5 = batch(%4, size=16)");
    const rewrite::Rewritten pipeline = AsWritten(text);
    const Pass plain = RunPlainly(pipeline, options_);
    EXPECT_EQ(plain.end.ok(), ignore == "ignore_errors(%3)") << plain.end;
    for (const int threads : {1, 2, 8}) {
      Engine engine({.threads = threads});
      ExpectSamePass(plain, RunInEngine(engine, pipeline, options_), text);
    }
  }
}

// A pipeline over rows in memory whose values differ in shape.
ir::Pipeline PaddedRows(int64_t seed) {
  base::Generator draw(base::RandomKey(seed, 2, 0), {});
  std::vector<ops::GivenRow> rows;
  const int64_t count = draw.Integer(1, 900);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t height = draw.Integer(0, 4);
    const int64_t width = draw.Integer(0, 3);
    const std::vector<int64_t> numbers(height * width, i);
    rows.push_back({{"x", core::Tensor::FromValues<int64_t>(numbers, {height, width})},
                    {"name", core::Tensor::Text(base::StrCat("row ", i))}});
  }
  const ops::PackedRows packed = *ops::PackRows(rows);
  const absl::StatusOr<ir::Pipeline> pipeline =
      FromRows(
          {.names = packed.names, .values = packed.values, .shapes = packed.shapes})
          .Shuffle({.window = 40})
          .PaddedBatch({.size = 1 + seed % 17, .pad_value = -1, .to_multiple_of = 2})
          .pipeline();
  CHECK(pipeline.ok()) << pipeline.status();
  return *pipeline;
}

TEST_P(ConformanceTest, RowsOfDifferingShapeGiveTheSameBatches) {
  const ir::Pipeline padded = PaddedRows(GetParam());
  const rewrite::Rewritten pipeline = rewrite::Unchanged(padded);
  std::vector<core::Block> plain = Run(pipeline);
  for (const core::Block& block : plain) {
    EXPECT_THAT(core::CheckAdmits(padded.spec(), block), base::IsOk());
  }
  for (const int threads : {1, 2, 8}) {
    Engine engine({.threads = threads});
    const auto iterator = *engine.Open(pipeline, ops::DefaultLibrary(), options_);
    const std::vector<core::Block> batches = Drain(*iterator);
    ASSERT_EQ(batches.size(), plain.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(core::SameRows(batches[i], plain[i])) << "batch " << i;
    }
  }
}

TEST_P(ConformanceTest, NoRowLeftOutIsCountedByTwoRunsOfAPass) {
  const rewrite::Rewritten pipeline = rewrite::Unchanged(pipeline_);
  const Pass whole = RunPlainly(pipeline, options_);
  Engine engine({.threads = 2});
  const auto iterator = *engine.Open(pipeline, ops::DefaultLibrary(), options_);
  for (int i = 0; i < 5; ++i) {
    const auto resumed =
        *engine.Open(pipeline, ops::DefaultLibrary(), options_, iterator->state());
    Drain(*resumed);
    const Account before = AccountOf(*iterator);
    const Account after = AccountOf(*resumed);
    for (const auto& [number, count] : whole.account.counts) {
      EXPECT_LE(CountAt(before, number) + CountAt(after, number), count)
          << "after " << i << "\n"
          << text_;
    }
    if (!(*iterator->Next()).has_value()) break;
  }
}

TEST_P(ConformanceTest, TheLeastMemoryIsEnough) {
  const rewrite::Rewritten pipeline = rewrite::Unchanged(pipeline_);
  const core::Block plain = Joined(Run(pipeline));
  const int64_t least =
      LeastMemory(*PlanPass(pipeline, ops::DefaultLibrary(), options_));
  for (const int threads : {1, 4}) {
    Engine engine({.threads = threads, .memory_bytes = least + 1});
    const auto iterator = *engine.Open(pipeline, ops::DefaultLibrary(), options_);
    EXPECT_TRUE(core::SameRows(plain, Joined(Drain(*iterator)))) << text_;
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
