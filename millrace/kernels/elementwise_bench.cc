// How fast expressions run over blocks, in rows (or values) per second and core.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmark/benchmark.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/evaluate.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using ir::ExpressionBuilder;
using ir::TermId;

const ir::Catalog& Kernels() {
  static const ir::Catalog catalog = [] {
    ir::Catalog made;
    AddKernels(made);
    return made;
  }();
  return catalog;
}

// Builds with a field x of this type; `build` gives the one result.
template <typename Build>
ir::Expression Expression(DType dtype, const Shape& shape, Build build) {
  ExpressionBuilder builder(Kernels(), core::Spec({{"x", dtype, shape}}), 0);
  CHECK(builder.AddResult("y", build(builder)).ok());
  return *builder.Build();
}

template <typename T>
Column Numbers(int64_t rows, const Shape& shape) {
  std::vector<T> values;
  values.reserve(rows * shape.Count());
  for (int64_t i = 0; i < rows * shape.Count(); ++i) values.push_back(T(i % 251));
  core::Buffer buffer = *core::CopyBytes(
      values.data(), static_cast<int64_t>(values.size() * sizeof(T)), core::HeapPool());
  return Column::Dense(core::kDTypeOf<T>, rows, shape, std::move(buffer));
}

void RunOver(benchmark::State& state, const ir::Expression& expression,
             const Column& column, int64_t items) {
  const core::Block block(column.rows(), core::FieldNames{"x"}, {column});
  for (auto _ : state) {
    absl::StatusOr<std::vector<Column>> results =
        Evaluate(expression, block, {}, core::HeapPool());
    CHECK(results.ok()) << results.status();
    benchmark::DoNotOptimize(results->front().values().data());
  }
  state.SetItemsProcessed(state.iterations() * items);
}

// range -> map(x * 2 + 1): the simplest thing one can do to a row.
void TimesTwoPlusOne(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const ir::Expression expression =
      Expression(DType::kInt64, {}, [](ExpressionBuilder& builder) {
        const TermId two = *builder.Literal(Tensor::Scalar<int64_t>(2), true);
        const TermId one = *builder.Literal(Tensor::Scalar<int64_t>(1), true);
        const TermId product = *builder.Call("multiply", {*builder.Field("x"), two});
        return *builder.Call("add", {product, one});
      });
  RunOver(state, expression, Numbers<int64_t>(rows, {}), rows);
}

BENCHMARK(TimesTwoPlusOne)->Arg(64)->Arg(1024)->Arg(8192)->Arg(1 << 20);

// (image - mean) / deviation, per channel: broadcasting along a short last axis.
void NormaliseImages(benchmark::State& state) {
  const Shape shape = {64, 64, 3};
  const ir::Expression expression =
      Expression(DType::kUint8, shape, [](ExpressionBuilder& builder) {
        const std::vector<float> three = {0.5F, 0.25F, 2.0F};
        const TermId mean = *builder.Literal(Tensor::FromValues<float>(three, {3}));
        const TermId centred = *builder.Call("subtract", {*builder.Field("x"), mean});
        const TermId deviation = *builder.Literal(Tensor::Scalar(3.0), true);
        return *builder.Call("divide", {centred, deviation});
      });
  RunOver(state, expression, Numbers<uint8_t>(16, shape), 16 * shape.Count());
}

BENCHMARK(NormaliseImages);

// tokens + 1 where rows differ in length.
void AddToRaggedTokens(benchmark::State& state) {
  core::Tensors rows;
  int64_t values = 0;
  for (int64_t row = 0; row < 256; ++row) {
    const std::vector<int32_t> tokens(100 + row % 100, 7);
    values += static_cast<int64_t>(tokens.size());
    rows.push_back(Tensor::FromValues<int32_t>(tokens, {100 + row % 100}));
  }
  const ir::Expression expression =
      Expression(DType::kInt32, {core::kUnknownSize}, [](ExpressionBuilder& builder) {
        const TermId one = *builder.Literal(Tensor::Scalar<int64_t>(1), true);
        return *builder.Call("add", {*builder.Field("x"), one});
      });
  RunOver(state, expression, *core::FromRows(DType::kInt32, rows, core::HeapPool()),
          values);
}

BENCHMARK(AddToRaggedTokens);

// The sum of each row's values, in double and in a fixed order.
void SumFloats(benchmark::State& state) {
  const Shape shape = {1000};
  const ir::Expression expression =
      Expression(DType::kFloat32, shape, [](ExpressionBuilder& builder) {
        return *builder.Call("sum", {*builder.Field("x")});
      });
  RunOver(state, expression, Numbers<float>(64, shape), 64 * shape.Count());
}

BENCHMARK(SumFloats);

}  // namespace
}  // namespace millrace::kernels
