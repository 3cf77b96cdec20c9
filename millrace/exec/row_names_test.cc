#include "millrace/exec/row_names.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/row_origins.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/origins.h"
#include "millrace/ops/source.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

PassPlan Plan(const std::string& source) {
  return *PlanPass(AsWritten(base::StrCat("%0 = ", source, "\n%1 = take(%0, count=5)")),
                   ops::DefaultLibrary(), {});
}

std::string Named(const PassPlan& plan, const ops::BadRow& row) {
  return std::string(NamedRow(plan, {.place = 1, .lane = 7}, row).message());
}

const absl::Status kWhy = absl::DataLossError("corrupt");

TEST(RowNamesTest, ARowIsNamedByItsFileAndNumber) {
  const storage::TemporaryFolder folder;
  folder.Write("a.txt", "one\n");
  const std::string path = folder.Write("b.txt", "two\n");
  const PassPlan plan = Plan(base::StrCat("read_text(paths=[\"", folder / "*", "\"])"));
  EXPECT_EQ(Named(plan, {.why = kWhy, .id = ops::SourceRowId(0, 1, 17)}),
            base::StrCat("take (%1): row 17 of ", path, ": corrupt"));
  EXPECT_EQ(
      Named(plan, {.why = kWhy, .id = ops::SourceRowId(0, 1, 17), .rows = 4}),
      base::StrCat("take (%1): batch of 4 rows from row 17 of ", path, ": corrupt"));
}

TEST(RowNamesTest, WhereItBeginsIsLookedUp) {
  const storage::TemporaryFolder folder;
  const std::string path = folder.Write("a.txt", "one\ntwo\nthree\n");
  const std::string source = base::StrCat("read_text(paths=[\"", path, "\"])");
  const ops::BadRow row = {.why = kWhy, .id = ops::SourceRowId(0, 0, 2)};
  EXPECT_EQ(Named(Plan(source), row),
            base::StrCat("take (%1): row 2 of ", path, " (at byte 8): corrupt"));
  PassPlan ignoring = Plan(source);
  ignoring.ignored_behind = true;  // There may be many.
  EXPECT_EQ(Named(ignoring, row),
            base::StrCat("take (%1): row 2 of ", path, ": corrupt"));
}

TEST(RowNamesTest, RowsBehindSeveralInputsAreNamedToo) {
  const storage::TemporaryFolder folder;
  const std::string path = folder.Write("b.txt", "two\n");
  const PassPlan plan = *PlanPass(
      AsWritten(base::StrCat("%0 = read_text(paths=[\"", folder.Write("a.txt", "one\n"),
                             "\"])\n%1 = read_text(paths=[\"", path,
                             "\"])\n%2 = concat(%0, %1)\n%3 = take(%2, count=5)")),
      ops::DefaultLibrary(), {});
  EXPECT_EQ(Named(plan, {.why = kWhy, .id = ops::SourceRowId(1, 0, 0)}),
            base::StrCat("take (%3): row 0 of ", path, " (at byte 0): corrupt"));
}

TEST(RowNamesTest, RowsThatWereMadeOfOthersAreNamedByThem) {
  const storage::TemporaryFolder folder;
  const std::string a = folder.Write("a.txt", "one\ntwo\nthree\n");
  const auto plan = [&](const std::string& behind) {
    return *PlanPass(
        AsWritten(base::StrCat("%0 = read_text(paths=[\"", a, "\"])\n", behind)),
        ops::DefaultLibrary(), {});
  };
  const PassPlan zipped = plan("%1 = map(%0, function={x: to_number(.text)})");
  ASSERT_NE(zipped.origins, nullptr);
  const auto named = [&](const std::vector<core::RowId>& from) {
    ops::MadeRows rows;
    rows.Add({11, from.size()}, from);
    zipped.origins->Note(std::move(rows));
    return Named(zipped, {.why = kWhy, .id = core::RowId{11, from.size()}});
  };
  const std::string first = base::StrCat("map (%1): row 1 of ", a, " (at byte 4)");
  EXPECT_EQ(named({ops::SourceRowId(0, 0, 1)}), base::StrCat(first, ": corrupt"));
  EXPECT_EQ(named({ops::SourceRowId(0, 0, 1), ops::SourceRowId(0, 0, 2)}),
            base::StrCat(first, " and row 2 of ", a, " (at byte 8): corrupt"));
  EXPECT_EQ(named({ops::SourceRowId(0, 0, 1), ops::SourceRowId(0, 0, 2),
                   ops::SourceRowId(0, 0, 0)}),
            base::StrCat(first, " and 2 others: corrupt"));
}

TEST(RowNamesTest, AFileThatIsARowIsNamedByItself) {
  const storage::TemporaryFolder folder;
  folder.Write("a.txt", "one\n");
  const std::string path = folder.Write("b.txt", "two\n");
  const PassPlan plan =
      Plan(base::StrCat("read_files(paths=[\"", folder / "*", "\"])"));
  EXPECT_EQ(Named(plan, {.why = kWhy, .id = ops::SourceRowId(0, 0, 1)}),
            base::StrCat("take (%1): ", path, ": corrupt"));
}

TEST(RowNamesTest, WithoutAnIdentityOfTheSourceTheLaneIsNamed) {
  const PassPlan plan = Plan("range(stop=9)");
  const std::string by_lane = "take (%1), lane 7: corrupt";
  EXPECT_EQ(Named(plan, {.why = kWhy}), by_lane);
  EXPECT_EQ(Named(plan, {.why = kWhy, .id = ops::SourceRowId(1, 0, 3)}), by_lane);
  EXPECT_EQ(Named(plan, {.why = kWhy, .id = ops::SourceRowId(0, 1, 3)}), by_lane);
  EXPECT_EQ(Named(plan, {.why = kWhy, .id = ops::SourceRowId(0, 0, 3)}),
            "take (%1): row 3: corrupt");
}

}  // namespace
}  // namespace millrace::exec
