// How fast the features of a tf.train.Example are found and read, in rows per second
// and core: ten features per record, as tf.io.parse_example would be asked for them.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmark/benchmark.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::kernels {
namespace {

using base::StrCat;
using core::DType;

constexpr int64_t kRows = 1024;
constexpr int kNumbers = 6;
constexpr int kVectors = 2;
constexpr int kWords = 2;
constexpr int64_t kVectorSize = 16;

std::string RandomRecord(base::Generator& random) {
  std::vector<NamedFeature> features;
  features.reserve(kNumbers);
  for (int i = 0; i < kNumbers; ++i) {
    features.emplace_back(StrCat("number_", i), Ints({random.Integer(0, 100000)}));
  }
  for (int i = 0; i < kVectors; ++i) {
    std::vector<float> values(kVectorSize);
    for (float& value : values) value = random.UniformFloat();
    features.emplace_back(StrCat("vector_", i), Floats(values));
  }
  for (int i = 0; i < kWords; ++i) {
    features.emplace_back(StrCat("word_", i),
                          Texts({StrCat("word", random.Integer(0, 1000))}));
  }
  return ExampleOf(features);
}

core::Column Records(bool shuffled) {
  base::Generator random(base::RandomKey(1, 2, 3), {});
  core::Tensors rows;
  for (int64_t row = 0; row < kRows; ++row) {
    // One feature more in front, so that all names are at other places.
    const bool other = shuffled && row % 2 == 1;
    std::string record = other ? ExampleOf({{"other", Ints({1})}}) : "";
    record += RandomRecord(random);
    rows.push_back(core::Tensor::Text(record, DType::kBytes));
  }
  return *core::FromRows(DType::kBytes, std::move(rows), core::HeapPool());
}

// Reads all features of a record, each under its own name.
ir::Expression ReadAll() {
  static const ir::Catalog catalog = [] {
    ir::Catalog made;
    AddKernels(made);
    return made;
  }();
  ir::ExpressionBuilder builder(catalog, core::Spec({{"record", DType::kBytes, {}}}),
                                0);
  const ir::TermId record = *builder.Field("record");

  struct Wanted {
    std::string name;
    std::string kernel;
    ir::List shape;
  };

  std::vector<Wanted> wanted;
  wanted.reserve(kNumbers + kVectors + kWords);
  wanted.reserve(kNumbers);
  for (int i = 0; i < kNumbers; ++i) {
    wanted.push_back({StrCat("number_", i), "example_ints", {}});
  }
  for (int i = 0; i < kVectors; ++i) {
    wanted.push_back({StrCat("vector_", i), "example_floats", {kVectorSize}});
  }
  for (int i = 0; i < kWords; ++i) {
    wanted.push_back({StrCat("word_", i), "example_texts", {}});
  }
  ir::List names;
  for (const Wanted& feature : wanted) names.emplace_back(feature.name);
  const ir::TermId entries =
      *builder.Call("example_features", {record}, {{"names", names}});
  for (int i = 0; i < static_cast<int>(wanted.size()); ++i) {
    const Wanted& feature = wanted[i];
    const ir::TermId value =
        *builder.Call(feature.kernel, {record, entries},
                      {{"index", i}, {"name", feature.name}, {"shape", feature.shape}});
    CHECK(builder.AddResult(feature.name, value).ok());
  }
  return *builder.Build();
}

// With 1: every second record has its names in another order than the one before.
void ReadTenFeatures(benchmark::State& state) {
  const core::Column records = Records(state.range(0) == 1);
  const core::Block block(kRows, core::FieldNames{"record"}, {records});
  const ir::Expression expression = ReadAll();
  for (auto _ : state) {
    absl::StatusOr<std::vector<core::Column>> results =
        Evaluate(expression, block, {}, core::HeapPool());
    CHECK(results.ok()) << results.status();
    benchmark::DoNotOptimize(results->front().values().data());
  }
  state.SetItemsProcessed(state.iterations() * kRows);
  state.SetBytesProcessed(state.iterations() * records.content_bytes());
}

BENCHMARK(ReadTenFeatures)->Arg(0)->Arg(1);

}  // namespace
}  // namespace millrace::kernels
