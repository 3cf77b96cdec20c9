#include "millrace/kernels/evaluate.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
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
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/catalog.h"

namespace millrace::kernels {
namespace {

using base::StatusIs;
using core::Block;
using core::Column;
using core::DType;
using core::HeapPool;
using core::RowId;
using core::Tensor;
using ir::ExpressionBuilder;
using ir::TermId;
using testing::HasSubstr;

core::Spec Input1() {
  return core::Spec({{"x", DType::kInt64, {}}, {"name", DType::kString, {}}});
}

Block Rows1() {
  const std::vector<RowId> ids = {{9, 1}, {9, 2}, {9, 3}};
  const Block block(3, {"x", "name"},
                    {ScalarRows<int64_t>({1, 2, 3}), TextRows({"a", "b", "c"})});
  return block.WithIds(*core::IdColumn(ids, HeapPool()));
}

// Builds expressions over rows like those above with less noise.
class Build {
 public:
  explicit Build(const ir::Catalog& catalog = AllKernels())
      : builder_(catalog, Input1(), 0) {}

  TermId Field(std::string_view name) { return *builder_.Field(name); }

  TermId Weak(int64_t value) {
    return *builder_.Literal(Tensor::Scalar(value), /*weak=*/true);
  }

  TermId Call(std::string_view kernel, std::vector<TermId> operands,
              const ir::Arguments& arguments = {}) {
    absl::StatusOr<TermId> term = builder_.Call(kernel, std::move(operands), arguments);
    CHECK(term.ok()) << term.status();
    return *term;
  }

  Build& Result(std::string_view name, TermId term) {
    CHECK(builder_.AddResult(name, term).ok());
    return *this;
  }

  ir::Expression Done() const { return *builder_.Build(); }

 private:
  ExpressionBuilder builder_;
};

std::vector<std::string> ShownAll(const absl::StatusOr<std::vector<Column>>& columns) {
  if (!columns.ok()) return {columns.status().ToString()};
  std::vector<std::string> shown;
  for (const Column& column : *columns) shown.push_back(Shown(column));
  return shown;
}

TEST(EvaluateTest, ComputesEveryResult) {
  Build build;
  const TermId x = build.Field("x");
  const TermId doubled = build.Call("multiply", {x, build.Weak(2)});
  const ir::Expression expression =
      build.Result("y", build.Call("add", {doubled, build.Weak(1)}))
          .Result("small", build.Call("less", {doubled, build.Weak(5)}))
          .Result("name", build.Field("name"))
          .Done();
  EXPECT_THAT(ShownAll(Evaluate(expression, Rows1(), {}, HeapPool())),
              testing::ElementsAre("int64 3; int64 5; int64 7",
                                   "bool true; bool true; bool false",
                                   "string \"a\"; string \"b\"; string \"c\""));
}

TEST(EvaluateTest, GivesFieldsWithoutACopy) {
  Build build;
  const ir::Expression expression = build.Result("x", build.Field("x")).Done();
  const Block rows = Rows1();
  const std::vector<Column> results = *Evaluate(expression, rows, {}, HeapPool());
  EXPECT_EQ(results[0].values().data(), rows.Find("x")->values().data());
}

TEST(EvaluateTest, RepeatsConstantsForEveryRow) {
  Build build;
  const TermId seven = build.Call("add", {build.Weak(3), build.Weak(4)});
  const ir::Expression expression = build.Result("seven", seven)
                                        .Result("text", build.Call("to_text", {seven}))
                                        .Result("literal", build.Weak(2))
                                        .Done();
  EXPECT_THAT(ShownAll(Evaluate(expression, Rows1(), {}, HeapPool())),
              testing::ElementsAre("int64 7; int64 7; int64 7",
                                   "string \"7\"; string \"7\"; string \"7\"",
                                   "int64 2; int64 2; int64 2"));
}

TEST(EvaluateTest, GivesWeakLiteralsTheirOwnType) {
  ExpressionBuilder builder(AllKernels(), Input1(), 0);
  ASSERT_TRUE(builder.AddResult("f", *builder.Literal(Tensor::Scalar(0.5), true)).ok());
  ASSERT_TRUE(
      builder.AddResult("i", *builder.Literal(Tensor::Scalar<int64_t>(2), true)).ok());
  const std::vector<Column> results =
      *Evaluate(*builder.Build(), Rows1(), {}, HeapPool());
  EXPECT_EQ(results[0].dtype(), DType::kFloat64);
  EXPECT_EQ(results[1].dtype(), DType::kInt64);
}

TEST(EvaluateTest, GivesOneValueForFilters) {
  Build build;
  const TermId even = build.Call(
      "equal",
      {build.Call("modulo", {build.Field("x"), build.Weak(2)}), build.Weak(0)});
  const ir::Expression expression = build.Result("", even).Done();
  EXPECT_FALSE(expression.gives_row());
  EXPECT_EQ(Shown(EvaluateValue(expression, Rows1(), {}, HeapPool())),
            "bool false; bool true; bool false");
}

TEST(EvaluateTest, NamesTheKernelAndTheRowThatFailed) {
  Build build;
  const TermId zero = build.Call("subtract", {build.Field("x"), build.Weak(2)});
  const ir::Expression expression =
      build.Result("y", build.Call("floor_divide", {build.Weak(1), zero})).Done();
  EXPECT_THAT(
      Evaluate(expression, Rows1(), {}, HeapPool()),
      StatusIs(absl::StatusCode::kDataLoss, "floor_divide: row 1: division by zero"));
}

TEST(EvaluateTest, KeepsTheCodeOfErrors) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 0});
  Build build;
  const ir::Expression expression =
      build.Result("y", build.Call("negate", {build.Field("x")})).Done();
  EXPECT_THAT(Evaluate(expression, Rows1(), {}, pool),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("negate: ")));
}

TEST(EvaluateTest, ComputesNoRowsOfNoRows) {
  Build build;
  const TermId crash = build.Call("floor_divide", {build.Weak(1), build.Weak(0)});
  const ir::Expression expression =
      build.Result("y", crash)
          .Result("name", build.Call("lower", {build.Field("name")}))
          .Done();
  const std::vector<Column> results =
      *Evaluate(expression, Rows1().Slice(0, 0), {}, HeapPool());
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].rows(), 0);
  EXPECT_TRUE(results[0].IsDense());
  EXPECT_EQ(results[0].dtype(), DType::kInt64);
  EXPECT_EQ(results[1].rows(), 0);
  EXPECT_EQ(results[1].dtype(), DType::kString);
}

TEST(EvaluateTest, ComputesAnExpressionWithoutResults) {
  EXPECT_TRUE(Evaluate(Build().Done(), Rows1(), {}, HeapPool())->empty());
}

// --- What is computed when ---

// Kernels of which we see how often they run, and on how many rows.
class Probe {
 public:
  Probe() {
    ir::KernelSchema schema = {
        .name = "probe",
        .doc = "Gives what it gets.",
        .operands = {{"x", "Anything."}},
        .infer = [](const ir::KernelTypes& types) -> absl::StatusOr<ir::ValueType> {
          return types.operands[0];
        },
        .run = [this](const ir::KernelCall& call) -> absl::StatusOr<Column> {
          rows_.push_back(call.rows);
          constant_.push_back(call.operands[0].constant);
          return call.operands[0].column;
        }};
    catalog_.Add(std::move(schema));
    AddKernels(catalog_);
  }

  const ir::Catalog& catalog() const { return catalog_; }

  const std::vector<int64_t>& rows() const { return rows_; }

  const std::vector<bool>& constant() const { return constant_; }

 private:
  ir::Catalog catalog_;
  std::vector<int64_t> rows_;
  std::vector<bool> constant_;
};

TEST(EvaluateTest, ComputesConstantTermsOnceOnOneRow) {
  const Probe probe;
  Build build(probe.catalog());
  const TermId constant = build.Call("probe", {build.Weak(5)});
  const TermId sum = build.Call("add", {build.Field("x"), constant});
  const ir::Expression expression =
      build.Result("y", build.Call("probe", {sum})).Done();
  EXPECT_THAT(ShownAll(Evaluate(expression, Rows1(), {}, HeapPool())),
              testing::ElementsAre("int64 6; int64 7; int64 8"));
  EXPECT_THAT(probe.rows(), testing::ElementsAre(1, 3));
  EXPECT_THAT(probe.constant(), testing::ElementsAre(true, false));
}

TEST(EvaluateTest, ComputesSharedTermsOnce) {
  const Probe probe;
  Build build(probe.catalog());
  const TermId shared = build.Call("probe", {build.Field("x")});
  const ir::Expression expression =
      build.Result("y", build.Call("add", {shared, shared})).Result("z", shared).Done();
  ASSERT_TRUE(Evaluate(expression, Rows1(), {}, HeapPool()).ok());
  EXPECT_EQ(probe.rows().size(), 1U);
}

TEST(EvaluateTest, FreesWhatNobodyNeedsAnyMore) {
  constexpr int64_t kCount = 1 << 15;
  const std::vector<int64_t> values(kCount, 1);
  const Column column = *core::FromRows(
      DType::kInt64, {Tensor::FromValues<int64_t>(values, {kCount})}, HeapPool());
  ExpressionBuilder builder(AllKernels(), core::Spec({{"x", DType::kInt64, {kCount}}}),
                            0);
  TermId term = *builder.Field("x");
  for (int i = 0; i < 50; ++i) term = *builder.Call("add", {term, term});
  ASSERT_TRUE(builder.AddResult("y", term).ok());
  core::Pool pool(core::MakeHeapAllocator(), {});
  ASSERT_TRUE(
      Evaluate(*builder.Build(), Block(1, core::FieldNames{"x"}, {column}), {}, pool)
          .ok());
  EXPECT_LE(pool.stats().peak_bytes, 3 * kCount * 8);
}

// --- Random ---

ir::Expression TwoDraws() {
  Build build;
  const auto draw = [&] {
    return build.Call("uniform", {build.Weak(0), build.Field("x")});
  };
  const TermId first = draw();
  const TermId second = draw();
  return build.Result("first", first).Result("second", second).Done();
}

TEST(EvaluateTest, DrawsByScopeCallAndIdentity) {
  const std::vector<Column> drawn =
      *Evaluate(TwoDraws(), Rows1(), {.seed = 11, .epoch = 4}, HeapPool());
  for (int64_t row = 0; row < 3; ++row) {
    const RowId id = {9, static_cast<uint64_t>(row + 1)};
    for (uint64_t call = 0; call < 2; ++call) {
      base::Generator generator(base::RandomKey(11, 4, call), id);
      EXPECT_EQ(drawn[call].As<double>()[row],
                generator.Uniform(0, static_cast<double>(row + 1)));
    }
  }
}

TEST(EvaluateTest, DrawsDifferentlyInOtherScopes) {
  const auto draw = [](const DrawScope& scope) {
    return ShownAll(Evaluate(TwoDraws(), Rows1(), scope, HeapPool()));
  };
  EXPECT_EQ(draw({.seed = 1, .epoch = 2}), draw({.seed = 1, .epoch = 2}));
  EXPECT_NE(draw({.seed = 1, .epoch = 2}), draw({.seed = 2, .epoch = 2}));
  EXPECT_NE(draw({.seed = 1, .epoch = 2}), draw({.seed = 1, .epoch = 3}));
}

TEST(EvaluateTest, DrawsForEachRowEvenOfConstants) {
  Build build;
  const ir::Expression expression =
      build.Result("y", build.Call("uniform", {build.Weak(0), build.Weak(1)})).Done();
  const Column drawn = (*Evaluate(expression, Rows1(), {}, HeapPool()))[0];
  ASSERT_EQ(drawn.rows(), 3);
  EXPECT_NE(drawn.As<double>()[0], drawn.As<double>()[1]);
}

TEST(EvaluateTest, DoesNotDependOnHowRowsAreCutIntoBlocks) {
  const Block rows = Rows1();
  const std::vector<Column> whole =
      *Evaluate(TwoDraws(), rows, {.seed = 5}, HeapPool());
  for (int64_t begin = 0; begin < 3; ++begin) {
    for (int64_t count = 1; begin + count <= 3; ++count) {
      const std::vector<Column> part =
          *Evaluate(TwoDraws(), rows.Slice(begin, count), {.seed = 5}, HeapPool());
      for (size_t i = 0; i < whole.size(); ++i) {
        EXPECT_TRUE(core::SameRows(part[i], whole[i].Slice(begin, count)));
      }
    }
  }
}

TEST(EvaluateTest, InsistsOnWhatItRequires) {
  const Block rows = Rows1();
  const Block nameless(3, {"x", "name"}, rows.columns());
  EXPECT_DEATH((void)Evaluate(TwoDraws(), nameless, {}, HeapPool()),
               "without identities");
  const Block other(1, core::FieldNames{"z"}, {ScalarRows<int64_t>({1})});
  Build build;
  const ir::Expression expression = build.Result("x", build.Field("x")).Done();
  EXPECT_DEATH((void)Evaluate(expression, other, {}, HeapPool()), "no field x");
  const Block wrong(1, core::FieldNames{"x"}, {ScalarRows<int8_t>({1})});
  EXPECT_DEATH((void)Evaluate(expression, wrong, {}, HeapPool()), "of field x");
}

}  // namespace
}  // namespace millrace::kernels
