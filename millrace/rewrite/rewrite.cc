#include "millrace/rewrite/rewrite.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {

#define PASS(name) Pass name##Pass();
#include "millrace/rewrite/passes.inc"
#undef PASS

namespace {

// Passes only ever make a pipeline smaller, or a filter stand higher, so few rounds
// suffice; more is a mistake.
constexpr int kRoundsMax = 100;

absl::Status CheckNames(const RewriteOptions& options) {
  std::vector<std::string> known = {"all"};
  for (const Pass& pass : AllPasses()) known.push_back(pass.name);
  for (const std::string& name : options.off) {
    if (std::ranges::count(known, name) > 0) continue;
    return absl::InvalidArgumentError(base::StrCat(
        "there is no rewrite ", name, "; rewrites are: ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

bool IsOff(const RewriteOptions& options, const std::string& name) {
  return std::ranges::count(options.off, name) > 0 ||
         std::ranges::count(options.off, "all") > 0;
}

// Tries every pass once; tells whether anything changed.
absl::StatusOr<bool> RunRound(const ir::Catalog& catalog, const RewriteOptions& options,
                              Rewritten& rewritten) {
  bool changed = false;
  for (const Pass& pass : AllPasses()) {
    if (IsOff(options, pass.name)) continue;
    Outcome outcome = TRY(pass.apply(rewritten.after, catalog));
    for (std::string& reason : outcome.reasons) {
      changed = true;
      rewritten.steps.push_back({pass.name, std::move(reason)});
    }
    rewritten.after = std::move(outcome.pipeline);
  }
  return changed;
}

std::string Indented(const ir::Pipeline& pipeline) {
  const std::string text = ir::Print(pipeline, {.for_people = true}).text;
  std::string indented = absl::StrReplaceAll(text, {{"\n", "\n  "}});
  indented.resize(indented.size() - 2);  // Nothing stands after the last line.
  return base::StrCat("  ", indented);
}

}  // namespace

std::vector<Pass> AllPasses() {
  std::vector<Pass> passes;
#define PASS(name) passes.push_back(name##Pass());
#include "millrace/rewrite/passes.inc"
#undef PASS
  return passes;
}

absl::StatusOr<Rewritten> Rewrite(const ir::Pipeline& pipeline,
                                  const ir::Catalog& catalog,
                                  const RewriteOptions& options) {
  TRY(CheckNames(options));
  Rewritten rewritten = {pipeline, pipeline, {}};
  for (int round = 0; TRY(RunRound(catalog, options, rewritten)); ++round) {
    CHECK_LT(round, kRoundsMax) << "rewrites undo one another";
  }
  CHECK(rewritten.after.spec() == pipeline.spec())
      << rewritten.after.spec() << " was " << pipeline.spec();
  return rewritten;
}

std::string Explain(const Rewritten& rewritten) {
  std::string text = base::StrCat("pipeline\n", Indented(rewritten.before));
  if (rewritten.steps.empty()) return text + "runs as it stands\n";
  text += base::StrCat("runs as\n", Indented(rewritten.after), "because\n");
  for (const Step& step : rewritten.steps) {
    text += base::StrCat("  ", step.pass, ": ", step.reason, "\n");
  }
  return text;
}

}  // namespace millrace::rewrite
