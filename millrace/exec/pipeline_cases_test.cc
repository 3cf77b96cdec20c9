// Small pipelines and the rows that come out of them, as text: `testdata/*.golden`.
// Each is run plainly, rewritten, and by the engine; all three must agree.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

constexpr int64_t kShownRows = 40;  // More is no case for people.

// "[1, 2]", or of what is ragged "([1], [2, 3])".
std::string ShownValue(const core::Column& column, int64_t row) {
  const absl::StatusOr<core::Tensor> value = column.Row(row);
  if (value.ok()) return value->ToString();
  const core::Column parts = column.Slice(row, 1).Unstack();
  std::string text = "(";
  for (int64_t part = 0; part < parts.rows(); ++part) {
    text += base::StrCat(part == 0 ? "" : ", ", ShownValue(parts, part));
  }
  return text + ")";
}

// A line for every row.
std::string ShownBlocks(const std::vector<core::Block>& blocks) {
  std::string text;
  int64_t shown = 0;
  for (const core::Block& block : blocks) {
    for (int64_t row = 0; row < block.rows() && ++shown <= kShownRows; ++row) {
      for (size_t i = 0; i < block.columns().size(); ++i) {
        text += base::StrCat(i == 0 ? "" : ", ", block.names()[i], ": ",
                             ShownValue(block.columns()[i], row));
      }
      text += "\n";
    }
  }
  return text;
}

std::string Outcome(const absl::StatusOr<std::vector<core::Block>>& blocks) {
  if (!blocks.ok()) return base::StrCat("! ", blocks.status().message(), "\n");
  const std::string shown = ShownBlocks(*blocks);
  return shown.empty() ? "(nothing)\n" : shown;
}

absl::StatusOr<std::vector<core::Block>> RunByEngine(const ir::Pipeline& pipeline) {
  Engine engine({.threads = 3});
  const std::unique_ptr<Iterator> iterator =
      TRY(engine.Open(rewrite::Unchanged(pipeline), ops::DefaultLibrary(), {}));
  std::vector<core::Block> blocks;
  while (std::optional<core::Block> block = TRY(iterator->Next())) {
    blocks.push_back(*std::move(block));
  }
  return blocks;
}

// The spec, and what comes out.
std::string RunText(const std::string& text) {
  const absl::StatusOr<ir::Pipeline> pipeline =
      ir::Parse(text, {}, ops::DefaultLibrary().catalog());
  if (!pipeline.ok()) return base::StrCat("! ", pipeline.status().message(), "\n");
  const std::string plain = Outcome(RunAll(rewrite::Unchanged(*pipeline), {}));
  EXPECT_EQ(Outcome(RunByEngine(*pipeline)), plain) << text;
  const rewrite::Rewritten rewritten =
      *rewrite::Rewrite(*pipeline, ops::DefaultLibrary().catalog(), {});
  EXPECT_EQ(Outcome(RunAll(rewritten, {})), plain) << text;
  return base::StrCat(pipeline->spec().ToString(), "\n", plain);
}

TEST(PipelineCasesTest, RowsAreWhatTheyWere) {
  for (const char* file :
       {"fields.golden", "lists.golden", "places.golden", "streams.golden"}) {
    EXPECT_THAT(
        base::CheckGolden(
            base::SourcePath(base::StrCat("millrace/exec/testdata/", file)),
            [](const base::GoldenCase& the_case) { return RunText(the_case.before); }),
        base::IsOk());
  }
}

}  // namespace
}  // namespace millrace::exec
