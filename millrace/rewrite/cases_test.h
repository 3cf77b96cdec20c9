// For tests: runs one pass, or all, over the pipelines of a golden file.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::rewrite {

// What a pipeline becomes when every pass but `only` is off, with the reasons.
inline std::string RewriteText(
    const std::string& text, const std::string& only,
    const ir::Catalog& catalog = ops::DefaultLibrary().catalog()) {
  const absl::StatusOr<ir::Pipeline> pipeline = ir::Parse(text, {}, catalog);
  if (!pipeline.ok()) return std::string(pipeline.status().message());
  RewriteOptions options;
  for (const Pass& pass : AllPasses()) {
    if (!only.empty() && pass.name != only) options.off.push_back(pass.name);
  }
  const absl::StatusOr<Rewritten> rewritten = Rewrite(*pipeline, catalog, options);
  if (!rewritten.ok()) return std::string(rewritten.status().message());
  std::string out = ir::Print(rewritten->after, {.for_people = true}).text;
  for (const Step& step : rewritten->steps) {
    out += base::StrCat("# ", step.pass, ": ", step.reason, "\n");
  }
  return out;
}

// Compares with `testdata/<name>.golden`.
inline absl::Status CheckCases(const std::string& name, const std::string& only) {
  return base::CheckGolden(
      base::SourcePath(base::StrCat("millrace/rewrite/testdata/", name, ".golden")),
      [&](const base::GoldenCase& the_case) {
        return RewriteText(the_case.before, only);
      });
}

}  // namespace millrace::rewrite
