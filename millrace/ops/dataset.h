// Pipelines in C++: a source, then operators, each a method with named options.
//
//   auto pipeline = millrace::Range({.stop = 1000})
//                       .Shuffle({.window = 100})
//                       .Map([](Row row, Rng rng) {
//                         return Fields{{"x", row["value"] + rng.Normal(0.0, 1.0)}};
//                       })
//                       .Batch({.size = 32});
//
// Made from the operators' definitions; `make golden` writes it anew.
// clang-format off
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "millrace/ir/expr.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/dataset_base.h"

namespace millrace {

using ir::Expr;
using ir::Fields;
using ir::Rng;
using ir::Row;

struct BatchOptions {
  // Rows per batch. Must be given.
  int64_t size = {};
  // Leave out a last batch that is not full.
  bool drop_remainder = false;
};

struct FilterOptions {
  // For random numbers; by default the job's.
  std::optional<int64_t> seed = {};
};

struct MapOptions {
  // For random numbers; by default the job's.
  std::optional<int64_t> seed = {};
};

struct RangeOptions {
  // The first number.
  int64_t start = 0;
  // Where to stop; not given itself. Must be given.
  int64_t stop = {};
  // From one number to the next; may be negative.
  int64_t step = 1;
};

struct ShuffleOptions {
  // Rows to choose the next one from. Must be given.
  int64_t window = {};
  // By default the job's.
  std::optional<int64_t> seed = {};
};

class Dataset : public ops::DatasetBase {
 public:
  // Groups consecutive rows into one, along a new leading axis.
  Dataset Batch(const BatchOptions& options) const {
    return Dataset(Then("batch",
      {{"size", ops::ToValue(options.size)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)}}));
  }

  // Keeps the rows for which a condition holds.
  Dataset Filter(const ir::ValueFunction& predicate,
      const FilterOptions& options = {}) const {
    return Dataset(Then("filter",
      {{"seed", ops::ToValue(options.seed)}},
      "predicate", predicate));
  }

  // Replaces every row by what a function makes of it.
  Dataset Map(const ir::RowFunction& function,
      const MapOptions& options = {}) const {
    return Dataset(Then("map",
      {{"seed", ops::ToValue(options.seed)}},
      "function", function));
  }

  // Puts rows in random order: the chunks of the whole data are permuted, and rows are
  // mixed within a moving window.
  Dataset Shuffle(const ShuffleOptions& options) const {
    return Dataset(Then("shuffle",
      {{"window", ops::ToValue(options.window)},
       {"seed", ops::ToValue(options.seed)}}));
  }

  // Starts with any source, by name.
  static Dataset FromSource(const std::string& name,
                            const ir::Arguments& arguments) {
    return Dataset(Start(name, arguments));
  }

 private:
  explicit Dataset(absl::StatusOr<ir::Pipeline> pipeline)
      : DatasetBase(std::move(pipeline)) {}
};

// Gives the whole numbers from start up to stop, as the field `value`.
inline Dataset Range(const RangeOptions& options) {
  return Dataset::FromSource("range",
      {{"start", ops::ToValue(options.start)},
       {"stop", ops::ToValue(options.stop)},
       {"step", ops::ToValue(options.step)}});
}

}  // namespace millrace
