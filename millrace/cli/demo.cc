// millrace demo: a small pipeline, as written, as it runs, and what comes out.

#include <iostream>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/base/status.h"
#include "millrace/cli/verb.h"
#include "millrace/core/block.h"
#include "millrace/exec/sequential_runner.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/dataset.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

constexpr int kBatchesShown = 3;

Dataset DemoDataset() {
  return Range({.stop = 100'000})
      .Map([](Row row, Rng rng) {
        return Fields{{"number", row["value"]},
                      {"square", row["value"] * row["value"]},
                      {"noise", rng.Normal(0.0, 0.1)},
                      {"unused", row["value"] - 1}};
      })
      .Map([](Row row, Rng) {
        return Fields{{"label", row["number"] % 10},
                      {"signal", row["square"] / 100 + row["noise"]}};
      })
      .Filter([](Row row, Rng) { return row["label"] != 3; })
      .Shuffle({.window = 1'000, .seed = 7})
      .Batch({.size = 4});
}

void Title(std::string_view title) { std::cout << "\n" << title << "\n"; }

absl::Status Demo() {
  const ops::Library& library = ops::DefaultLibrary();
  const ir::Pipeline pipeline = TRY(DemoDataset().pipeline());

  Title("1. A pipeline is data. This is the text that is stored and sent:");
  std::cout << ir::Print(pipeline).text;

  Title("2. It is rewritten before it runs, and says why:");
  const rewrite::Rewritten rewritten =
      TRY(rewrite::Rewrite(pipeline, library.catalog()));
  std::cout << rewrite::Explain(rewritten);

  Title("3. Types, shapes and counts are known before anything runs:");
  std::cout << "  spec: " << pipeline.spec()
            << "\n  batches: " << pipeline.cardinality() << " (a filter is in it)\n";

  Title("4. It runs lane by lane; the same rows come out on any machine:");
  exec::SequentialRunner runner =
      TRY(exec::SequentialRunner::Open(rewritten, library, {.seed = 1}));
  std::cout << "  " << runner.plan().lanes.size() << " lanes of about "
            << runner.plan().cut.lane_rows << " rows\n";
  for (int i = 0; i < kBatchesShown; ++i) {
    const std::optional<core::Block> batch = TRY(runner.Next());
    if (batch) std::cout << "  " << batch->ToString() << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

Verb DemoVerb() {
  return {"demo", "Show a pipeline: as written, rewritten, its spec, its first batches",
          [](CLI::App&) { return [] { return Demo(); }; }};
}

}  // namespace millrace::cli
