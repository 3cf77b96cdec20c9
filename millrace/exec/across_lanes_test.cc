// Operators that look at rows of all lanes, in whole passes: over files and branches,
// with any number of threads, and on from any state.

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/explain_lanes.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using testing::HasSubstr;

// Each behind %0, whose rows have the field n; % stands for the number of the next.
const std::vector<std::string>& Operators() {
  static const auto& operators = *new std::vector<std::string>{
      "take_while(%0, predicate={.n != 771})",
      "unique(%0)",
      "window(%0, size=5, shift=2, stride=2)",
      "window(%0, size=5, shift=2, per_lane=true)",
      "group_by(%0, key={.n % 7}, size=9)",
      "group_by(%0, key={to_text(.n % 7)}, drop_remainder=true)",
      "bucket(%0, length={.n % 50}, up_to=[10, 30], sizes=[16, 8, 4], group=2)",
      "bucket(%0, length={.n % 50}, up_to=[10, 30], sizes=[16], drop_remainder=true)",
      "scan(%0, state=\"{s: int64}\", function={n: .\"state.s\" % 1000, "
      "\"state.s\": .\"state.s\" * 3 + .n})",
      "reduce(%0, state=\"{s: int64}\", function={\"state.s\": .\"state.s\" * 3 + .n})",
      "resample(%0, label={.n % 2}, target=[1.0, 3.0])",
      "resample(%0, label={.n % 2}, target=[1.0, 3.0], initial=[1.0, 1.0])",
  };
  return operators;
}

// Lines of numbers in three files, some of them wrong.
class AcrossLanesTest : public ::testing::Test {
 protected:
  AcrossLanesTest() {
    for (int file = 0; file < 3; ++file) {
      std::string text;
      for (int line = 0; line < 500; ++line) {
        text += base::StrCat(line % 97 == 5 ? "x" : "", line * (file + 1), "\n");
      }
      folder_.Write(base::StrCat(file, ".txt"), text);
    }
  }

  // Rows with the field n from the files, then an operator, then perhaps more.
  std::string Text(const std::string& across, const std::string& behind = "") const {
    return base::StrCat(
        "%0 = read_text(paths=[\"", folder_ / "*.txt", "\"])\n",
        "%1 = map(%0, function={n: byte_length(.text) * 100 + 700 // "
        "(byte_length(.text) "
        "- 1)})\n%2 = ignore_errors(%1)\n%3 = enumerate(%2)\n%4 = map(%3, function={n: "
        ".n + .index})\n%5 = ",
        absl::StrReplaceAll(across, {{"%0", "%4"}}), "\n", behind);
  }

  static std::vector<core::Block> Drain(Iterator& iterator) {
    std::vector<core::Block> blocks;
    while (true) {
      absl::StatusOr<std::optional<core::Block>> block = iterator.Next();
      CHECK(block.ok()) << block.status();
      if (!block->has_value()) return blocks;
      blocks.push_back(**std::move(block));
    }
  }

  static void ExpectSame(const std::string& text) {
    const core::Block plain = Joined(MustRun(text));
    EXPECT_GT(plain.rows(), 0) << text;
    for (const int threads : {1, 4}) {
      Engine engine({.threads = threads});
      const auto iterator = *engine.Open(AsWritten(text), ops::DefaultLibrary(), {});
      EXPECT_TRUE(core::SameRows(plain, Joined(Drain(*iterator)))) << text;
    }
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(AcrossLanesTest, TheEngineGivesWhatIsDefined) {
  for (const std::string& across : Operators()) ExpectSame(Text(across));
}

TEST_F(AcrossLanesTest, OthersMayStandBehind) {
  for (const std::string& across : Operators()) {
    ExpectSame(Text(across,
                    "%6 = shuffle(%5, window=20)\n%7 = repeat(%6, count=2)\n"
                    "%8 = ragged_batch(%7, size=3)\n"));
    ExpectSame(Text(across, "%6 = mix(%5, %5)\n%7 = take(%6, count=40)\n"));
  }
}

TEST_F(AcrossLanesTest, GoOnFromAnyState) {
  for (const std::string& across : Operators()) {
    const std::string text = Text(across, "%6 = ragged_batch(%5, size=3)\n");
    const core::Block plain = Joined(MustRun(text));
    Engine engine({.threads = 2});
    std::unique_ptr<Iterator> iterator =
        *engine.Open(AsWritten(text), ops::DefaultLibrary(), {});
    std::vector<core::Block> blocks;
    while (true) {
      absl::StatusOr<std::optional<core::Block>> block = iterator->Next();
      ASSERT_TRUE(block.ok()) << block.status();
      if (!block->has_value()) break;
      blocks.push_back(**std::move(block));
      if (blocks.size() % 9 != 4) continue;
      const lanes::State state = iterator->state();
      iterator = *engine.Open(AsWritten(text), ops::DefaultLibrary(), {}, state);
    }
    EXPECT_TRUE(core::SameRows(plain, Joined(blocks))) << text;
  }
}

// The user is told why there is but one, and what to do about it.
TEST_F(AcrossLanesTest, SayWhyThereIsOneLane) {
  const auto reason = [](const std::string& across) {
    const ir::Pipeline pipeline = MustParse("%0 = range(stop=900000)\n%1 = " + across);
    const PassPlan plan =
        *PlanPass(rewrite::Unchanged(pipeline), ops::DefaultLibrary(), {});
    return std::pair(plan.lanes.size(), ExplainLanes(plan));
  };
  const auto [one, why] = reason("window(%0, size=5)");
  EXPECT_EQ(one, 1);
  EXPECT_THAT(why, HasSubstr("window (%1) looks at the rows of all lanes"));
  EXPECT_GT(reason("window(%0, size=5, per_lane=true)").first, 4);
  EXPECT_GT(reason("flat_map(%0, function={x: reshape(.value, shape=[1])})").first, 4);
}

}  // namespace
}  // namespace millrace::exec
