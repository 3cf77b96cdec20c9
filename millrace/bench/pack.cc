#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/workload.h"
#include "millrace/core/block.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/dataset.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/packed_rows.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::bench {
namespace {

constexpr int64_t kSequences = 40'000;
constexpr int64_t kSize = 2048;

// Documents are of any length; most are short, some as long as a row.
std::vector<ops::GivenRow> Sequences(int64_t* tokens) {
  base::Generator draw(base::RandomKey(1, 0, 0), {});
  std::vector<ops::GivenRow> rows;
  for (int64_t i = 0; i < kSequences; ++i) {
    const double length = std::exp(6.0 + draw.Normal());
    const int64_t size = std::clamp<int64_t>(std::llround(length), 1, kSize);
    *tokens += size;
    const std::vector<int32_t> values(size, static_cast<int32_t>(i % 50'000 + 1));
    rows.push_back({{"tokens", core::Tensor::FromValues<int32_t>(values, {size})}});
  }
  return rows;
}

// Rows of a pass of a pipeline.
absl::StatusOr<int64_t> CountRows(const ir::Pipeline& pipeline) {
  exec::Engine engine({.threads = 1});
  const std::unique_ptr<exec::Iterator> iterator =
      TRY(engine.Open(rewrite::Unchanged(pipeline), ops::DefaultLibrary(), {}));
  int64_t rows = 0;
  while (std::optional<core::Block> block = TRY(iterator->Next()))
    rows += block->rows();
  return rows;
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunPack(const BenchOptions& options) {
  int64_t tokens = 0;
  const ops::PackedRows rows = TRY(ops::PackRows(Sequences(&tokens)));
  const Dataset packed =
      FromRows({.names = {"tokens"}, .values = rows.values, .shapes = rows.shapes})
          .Pack({.size = kSize});
  const ir::Pipeline pipeline = TRY(packed.pipeline());
  exec::Engine engine({.threads = 1});
  const double rate = TRY(
      MedianOf(options.repeats, [&] { return PassRate(pipeline, engine, tokens); }));
  const auto room = static_cast<double>(TRY(CountRows(pipeline)) * kSize);
  return std::vector<Line>{{.name = "pack(2048), best_fit",
                            .unit = "tokens/s per core",
                            .ours = rate,
                            .limit = 5e6,
                            .limit_is = "5 M tokens/s per core",
                            .bar = 1.0},
                           {.name = "the same, how full rows are",
                            .unit = "of all room",
                            .ours = static_cast<double>(tokens) / room,
                            .limit = 1,
                            .limit_is = "full",
                            .bar = 0.98}};
}

}  // namespace millrace::bench
