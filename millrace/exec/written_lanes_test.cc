// What write_rows writes, lane by lane, is what saving in one process gives.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/save.h"
#include "millrace/ops/library.h"
#include "millrace/ops/saved_set.h"
#include "millrace/ops/source/packed_rows.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::IsOk;

class WrittenLanesTest : public testing::Test {
 protected:
  static int64_t LastNumber(const std::string& text) {
    return std::ssize(MustParse(text).Nodes()) - 1;
  }

  std::string Written(const std::string& text) const {
    const int64_t last = LastNumber(text);
    return base::StrCat(text, "%", last + 1, " = write_rows(%", last, ", path=\"",
                        folder_ / "lanes", "\", name=\"x\")\n");
  }

  // Writes the lanes, and the list of them as whoever reads the rows does.
  int64_t WriteLanes(const std::string& text) {
    const storage::BlobStore& files = storage::ProcessFiles();
    EXPECT_THAT(ops::ClearSavedSet(files, folder_ / "lanes", true), IsOk());
    const core::Block told =
        Joined(MustRun(Written(text), {.seed = 5, .order = Delivery::kAny}));
    ops::SavedSet saved = {
        .format = "frames", .fields = MustParse(text).spec().ToString(), .files = {}};
    const std::vector<int64_t> lanes = Values<int64_t>(told, "lane");
    const std::vector<int64_t> rows = Values<int64_t>(told, "rows");
    for (size_t i = 0; i < lanes.size(); ++i) {
      saved.files.push_back({ops::SavedFileName(lanes[i], "x", ".frames"), rows[i]});
    }
    EXPECT_THAT(ops::WriteSavedSet(files, folder_ / "lanes", saved), IsOk());
    return std::ssize(lanes);
  }

  core::Block Loaded(const std::string& name) const {
    return Joined(MustRun(base::StrCat("%0 = load(path=\"", folder_ / name, "\")")));
  }

  // Gives in how many lanes it was written.
  int64_t ExpectSame(const std::string& text) {
    const int64_t lanes = WriteLanes(text);
    EXPECT_THAT(
        Save(engine_, AsWritten(text), ops::DefaultLibrary(),
             {.folder = folder_ / "here", .replace = true, .pass = {.seed = 5}}),
        IsOk());
    const core::Block here = Loaded("here");
    const core::Block written = Loaded("lanes");
    EXPECT_EQ(written.rows(), here.rows()) << text;
    for (size_t i = 0; written.rows() == here.rows() && i < here.columns().size();
         ++i) {
      EXPECT_TRUE(core::SameRows(written.columns()[i], here.columns()[i])) << text;
    }
    return lanes;
  }

  const storage::TemporaryFolder folder_;
  Engine engine_{{.threads = 2}};
};

TEST_F(WrittenLanesTest, RowsAreTheSameWhateverThePipeline) {
  const std::string range = "%0 = range(stop=3000)\n";
  EXPECT_GT(ExpectSame(range), 100);
  EXPECT_GT(ExpectSame(range + "%1 = map(%0, function={t: to_text(.value)})\n"), 100);
  EXPECT_GT(ExpectSame(range + "%1 = filter(%0, predicate={.value % 7 == 3})\n"), 100);
  EXPECT_GT(ExpectSame(range + "%1 = shuffle(%0, window=20)\n"), 100);
  EXPECT_GT(ExpectSame(range + "%1 = take(%0, count=1234)\n"), 50);
  EXPECT_GT(ExpectSame(range + "%1 = enumerate(%0)\n"), 100);
  EXPECT_GT(ExpectSame(range + "%1 = repeat(%0, count=3)\n"), 300);
  EXPECT_GT(ExpectSame(range + "%1 = range(stop=10)\n%2 = concat(%0, %1)\n"), 100);
  EXPECT_GT(ExpectSame(range + "%1 = unique(%0, per_lane=true)\n"), 100);
  EXPECT_GT(ExpectSame(range + "%1 = batch(%0, size=4)\n%2 = batch(%1, size=2)\n"), 50);
  EXPECT_EQ(ExpectSame(range + "%1 = unique(%0)\n"), 1);
  ExpectSame(range +
             "%1 = range(stop=900)\n%2 = map(%1, function={y: .value})\n"
             "%3 = zip(%0, %2)\n");
  ExpectSame(range + "%1 = cache(%0)\n");
}

// Batches go over from one lane into the next, but where all lanes end with one.
TEST_F(WrittenLanesTest, BatchesAreInManyLanesWhereEachLaneHasWholeOnes) {
  const std::string range = "%0 = range(stop=3000)\n";
  EXPECT_GT(ExpectSame(range + "%1 = batch(%0, size=7)\n"), 100);
  EXPECT_GT(ExpectSame(range + "%1 = batch(%0, size=7, drop_remainder=true)\n"), 100);
  EXPECT_GT(ExpectSame(range + "%1 = shuffle(%0, window=30)\n%2 = batch(%1, size=9)\n"),
            30);
  const std::string behind = "%2 = map(%1, function={n: sum(.value)})\n";
  EXPECT_GT(ExpectSame(range + "%1 = batch(%0, size=7)\n" + behind), 100);
}

TEST_F(WrittenLanesTest, BatchesAreInOneLaneElsewhere) {
  const std::string range = "%0 = range(stop=3000)\n";
  const std::string filtered = range + "%1 = filter(%0, predicate={.value % 7 < 3})\n";
  EXPECT_EQ(ExpectSame(filtered + "%2 = batch(%1, size=7)\n"), 1);
  EXPECT_EQ(ExpectSame(range + "%1 = repeat(%0, count=2)\n%2 = batch(%1, size=7)\n"),
            1);
  EXPECT_EQ(ExpectSame(range + "%1 = batch(%0, size=7)\n%2 = unbatch(%1)\n"), 1);
  const std::string bucket = "%1 = bucket(%0, length={.value % 50}, up_to=[10, 20], ";
  EXPECT_EQ(ExpectSame(range + bucket + "sizes=[4, 4, 4])\n"), 1);
}

TEST_F(WrittenLanesTest, FilesThatCannotBeReadFromAnywhereAreLanesOfTheirOwn) {
  for (const std::string name : {"a", "b", "c"}) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += base::StrCat(name, i, "\n");
    folder_.Write(base::StrCat(name, ".txt"), text);
  }
  const std::string read =
      base::StrCat("%0 = read_text(paths=[\"", folder_ / "*.txt", "\"])\n");
  EXPECT_EQ(ExpectSame(read), 3);
  EXPECT_EQ(ExpectSame(read + "%1 = batch(%0, size=300)\n"), 1);
  for (const std::string name : {"a", "b", "c"}) {
    ops::AddIndex(folder_ / base::StrCat(name, ".txt"), storage::RowFormat::kLines);
  }
  EXPECT_GT(ExpectSame(read + "%1 = batch(%0, size=7)\n"), 100);
}

// Without a shuffle nobody sees where lanes end: so files need not be many.
TEST_F(WrittenLanesTest, LanesAreLongerThanThoseThatAreDelivered) {
  const auto lanes = [&](const std::string& text) {
    return PlanPass(AsWritten(text), ops::DefaultLibrary(), {})->lanes.size();
  };
  const std::string rows = "%0 = range(stop=100000)\n";
  EXPECT_GE(lanes(rows), 1000);
  EXPECT_LT(lanes(Written(rows)), 300);
  const std::string shuffled = rows + "%1 = shuffle(%0, window=10)\n";
  EXPECT_EQ(lanes(Written(shuffled)), lanes(shuffled));
}

TEST_F(WrittenLanesTest, EveryLaneIsKnownToGiveOneRow) {
  const std::string text =
      "%0 = range(stop=1000)\n%1 = filter(%0, predicate={.value > 3})\n";
  const absl::StatusOr<PassPlan> plan =
      PlanPass(AsWritten(Written(text)), ops::DefaultLibrary(), {});
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->joined_rows, std::vector<int64_t>(plan->lanes.size(), 1));
}

}  // namespace
}  // namespace millrace::exec
