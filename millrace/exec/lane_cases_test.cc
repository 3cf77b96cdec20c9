// Lanes that are run by themselves, on the small pipelines of `testdata/*.golden`.

#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/exec/checked_lanes_test.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

void CheckCase(const std::string& text, int seed) {
  const absl::StatusOr<ir::Pipeline> pipeline =
      ir::Parse(text, {}, ops::DefaultLibrary().catalog());
  if (!pipeline.ok() || pipeline->cardinality().infinite()) return;
  if (!PlanPass(rewrite::Unchanged(*pipeline), ops::DefaultLibrary(), {}).ok()) return;
  Checked checked(*pipeline, seed);
  if (!checked.IsGood()) return checked.ExpectTheErrorsOfLanes();
  // How many rows may be left out is counted over all lanes, by who joins them.
  if (!RunAll(*pipeline).ok()) return;
  checked.ExpectThatLanesMakeThePass();
  checked.ExpectLanesInAnyInterleaving();
  checked.ExpectLanesFromAnyRow(4);
}

TEST(LaneCasesTest, LanesGiveWhatThePassGives) {
  for (const char* file : {"fields", "lists", "places", "streams"}) {
    const std::string path =
        base::SourcePath(base::StrCat("millrace/exec/testdata/", file, ".golden"));
    int seed = 0;
    EXPECT_THAT(base::CheckGolden(path,
                                  [&](const base::GoldenCase& the_case) {
                                    CheckCase(the_case.before, ++seed);
                                    return the_case.after;
                                  }),
                base::IsOk());
  }
}

}  // namespace
}  // namespace millrace::exec
