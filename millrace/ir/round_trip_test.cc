// What is printed is parsed again, and gives the same: the text, the content, the
// fingerprint. For pipelines written by hand and for random ones.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/base/utf8.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/random_pipeline_test.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;

// Compares everything that can be seen of two pipelines, node by node.
void ExpectSame(const Pipeline& a, const Pipeline& b) {
  const std::vector<Pipeline> of_a = a.Nodes();
  const std::vector<Pipeline> of_b = b.Nodes();
  ASSERT_EQ(of_a.size(), of_b.size());
  for (size_t i = 0; i < of_a.size(); ++i) {
    EXPECT_EQ(of_a[i].name(), of_b[i].name());
    EXPECT_TRUE(of_a[i].arguments() == of_b[i].arguments()) << of_a[i].name();
    EXPECT_EQ(of_a[i].call_number(), of_b[i].call_number());
    EXPECT_EQ(of_a[i].spec(), of_b[i].spec());
    EXPECT_EQ(of_a[i].cardinality(), of_b[i].cardinality());
    EXPECT_EQ(of_a[i].fingerprint(), of_b[i].fingerprint()) << of_a[i].name();
    EXPECT_EQ(of_a[i].IsRandom(), of_b[i].IsRandom());
    EXPECT_EQ(of_a[i].NextCallNumber(), of_b[i].NextCallNumber());
  }
  EXPECT_EQ(RowFingerprint(a), RowFingerprint(b));
}

void ExpectRoundTrip(const Pipeline& pipeline) {
  const PipelineText text = Print(pipeline);
  EXPECT_TRUE(base::IsUtf8(text.text));
  const absl::StatusOr<Pipeline> parsed =
      Parse(text.text, text.attachments, TestCatalog());
  ASSERT_THAT(parsed, IsOk()) << text.text;
  ExpectSame(pipeline, *parsed);
  const PipelineText again = Print(*parsed);
  EXPECT_EQ(again.text, text.text);
  EXPECT_EQ(again.attachments.all(), text.attachments.all());

  // What is printed for people is the same pipeline too.
  const PipelineText people = Print(pipeline, {.for_people = true});
  const absl::StatusOr<Pipeline> read =
      Parse(people.text, people.attachments, TestCatalog());
  ASSERT_THAT(read, IsOk()) << people.text;
  EXPECT_EQ(Print(*read).text, text.text);
}

// Puts an expression into a pipeline, where its arrays can travel beside it.
void ExpectRoundTrip(const Expression& expression) {
  const absl::StatusOr<Pipeline> rows = Pipeline::Make(TestCatalog(), "rows", {}, {});
  const auto function = std::make_shared<const Expression>(expression);
  const absl::StatusOr<Pipeline> map =
      Pipeline::Make(TestCatalog(), "map", {{"function", function}}, {*rows});
  ASSERT_THAT(map, IsOk());
  ExpectRoundTrip(*map);
}

TEST(RoundTripTest, PipelinesWrittenByHandComeBack) {
  for (const std::string_view text :
       {"%0 = range(stop=10)",
        "millrace 1\n%0 = range#5(start=-9223372036854775808, "
        "stop=9223372036854775807)",
        "%0 = rows()\n%1 = map(%0, function={})\n%2 = batch(%1, size=1)",
        "%0 = range(stop=3)\n%1 = shuffle(%0, window=2)\n%2 = zip(%0, %1)\n"
        "%3 = zip(%2, %2)",
        "# A comment.\n%train = rows()  # Another.\n"
        "%kept = filter(%train, predicate={.flag and not .other}, seed=3)\n"
        "%out = map(%kept, function={\n  $0 = .image[1:];\n  x: $0, y: $0 + 1})"}) {
    const absl::StatusOr<Pipeline> pipeline = Parse(text, {}, TestCatalog());
    ASSERT_THAT(pipeline, IsOk()) << text;
    ExpectRoundTrip(*pipeline);
  }
}

TEST(RoundTripTest, ExpressionsWrittenByHandComeBack) {
  for (const std::string_view text :
       {"{x: .a + .b * -.a - -5, y: not .flag or .other and .a == .b}",
        "{x: -(2), y: --2, z: -(-.a), w: negate(negate(1.5))}",
        "{x: .image[-1], y: .image[::-1][0][.a], z: int8[[-1, 2]][0]}",
        "{x: (.a == .b) == (.flag != .other), y: (.a < .b) and .flag}",
        "{x: uniform(0, 1) + uniform(0, 1) * uniform#70(0, 1)}",
        "{x: \"\\x00\\x01\\\"\\\\\", y: b\"\\x00\\xff\", z: string[\"\", \"a\"]}",
        "{x: nan, y: nanf16, z: nanbf16, w: -inff32, v: -0.0, u: -0.0f16}",
        "{x: -9223372036854775808, y: 18446744073709551615u64, z: -128i8}",
        "{x: float32[], y: int64[[], []], z: bool[true], w: bytes[b\"\\xff\"]}",
        "{x: uint64[9223372036854775807], y: float64[nan, inf]}"}) {
    const auto expression = ParseExpression(text, TestRow(), TestCatalog());
    ASSERT_THAT(expression, IsOk()) << text;
    ExpectRoundTrip(*expression);
  }
}

TEST(RoundTripTest, RandomExpressionsComeBack) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(base::StrCat("seed ", seed));
    RandomExpression random(TestRow(), 0, seed);
    ExpectRoundTrip(random.Row(static_cast<int64_t>(seed)));
    if (HasFailure()) return;
  }
}

TEST(RoundTripTest, RandomPipelinesComeBack) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(base::StrCat("seed ", seed));
    ExpectRoundTrip(RandomPipeline(seed));
    if (HasFailure()) return;
  }
}

TEST(RoundTripTest, RandomExpressionsAreNotTrivial) {
  size_t terms = 0;
  size_t shared = 0;
  int64_t random = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Expression expression =
        RandomExpression(TestRow(), 0, seed).Row(static_cast<int64_t>(seed));
    terms += expression.terms().size();
    shared += PrintExpression(expression).find("$0 = ") != std::string::npos ? 1 : 0;
    random += expression.IsRandom() ? 1 : 0;
  }
  EXPECT_GT(terms, 4000);
  EXPECT_GT(shared, 100);
  EXPECT_GT(random, 50);
}

TEST(RoundTripTest, PrintingDoesNotDependOnTheOrderOfBuilding) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Expression expression = RandomExpression(TestRow(), 0, seed).Row(60);
    ExpressionBuilder builder(TestCatalog(), TestRow(), expression.NextCallNumber());
    // All fields first, so that terms get other places than they had.
    absl::flat_hash_map<std::string, TermId> fields;
    const core::Spec row = TestRow();
    for (const core::FieldSpec& field : row.fields()) {
      fields[field.name] = *builder.Field(field.name);
    }
    const absl::StatusOr<std::vector<TermId>> results =
        Inline(expression, builder, fields);
    ASSERT_THAT(results, IsOk());
    for (size_t i = 0; i < results->size(); ++i) {
      ASSERT_THAT(builder.AddResult(expression.results()[i].name, (*results)[i]),
                  IsOk());
    }
    EXPECT_EQ(*builder.Build(), expression) << seed;
    EXPECT_EQ(PrintExpression(*builder.Build()), PrintExpression(expression)) << seed;
  }
}

// A constant in a map, alone.
Expression Constant(const core::Tensor& value) {
  ExpressionBuilder builder(TestCatalog(), TestRow(), 0);
  const absl::StatusOr<TermId> term = builder.Literal(value);
  CHECK(term.ok()) << term.status();
  CHECK(builder.AddResult("x", *term).ok());
  return *builder.Build();
}

TEST(RoundTripTest, ConstantsOfEveryTypeComeBack) {
  RandomParts parts(1);
  for (const core::DType dtype : core::kAllDTypes) {
    SCOPED_TRACE(core::Name(dtype));
    for (int i = 0; i < 30; ++i) ExpectRoundTrip(Constant(parts.Scalar(dtype)));
    for (const core::Shape& shape :
         {core::Shape({0}), core::Shape({1}), core::Shape({32}), core::Shape({33}),
          core::Shape({2, 3}), core::Shape({2, 0, 3}), core::Shape({1, 1, 1, 1}),
          core::Shape({200, 5})}) {
      ExpectRoundTrip(Constant(parts.Array(dtype, shape)));
    }
    if (HasFailure()) return;
  }
}

TEST(RoundTripTest, BytesOfEveryValueComeBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all += static_cast<char>(c);
    const std::string text = {static_cast<char>(c), 'a', static_cast<char>(c), '0'};
    ExpectRoundTrip(Constant(core::Tensor::Text(text, core::DType::kBytes)));
  }
  ExpectRoundTrip(Constant(core::Tensor::Text(all, core::DType::kBytes)));
  for (const size_t size : {1023, 1024, 1025, 100'000}) {
    ExpectRoundTrip(Constant(core::Tensor::Text(std::string(size, '\x01'))));
  }
}

TEST(RoundTripTest, TextArgumentsOfEveryValueComeBack) {
  const std::string all = [] {
    std::string bytes;
    for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
    return bytes;
  }();
  ExpressionBuilder builder(TestCatalog(), TestRow(), 0);
  const absl::StatusOr<TermId> filled = builder.Call(
      "fill", {*builder.Field("a")}, {{"text", all}, {"words", List{all, "", "\n"}}});
  ASSERT_THAT(filled, IsOk());
  ASSERT_THAT(builder.AddResult("x", *filled), IsOk());
  ExpectRoundTrip(*builder.Build());
}

TEST(RoundTripTest, OddFieldNamesComeBack) {
  std::vector<core::FieldSpec> fields;
  for (const std::string_view name :
       {"a b", "a.b.c", "\"", "\\", "\n", "\x01", "gr\xc3\xbc\xc3\x9f", "9", "-", "%0",
        "$0", "#", "true", "not", "x:", "nan", "_"}) {
    fields.push_back({std::string(name), core::DType::kInt64, {}});
  }
  const core::Spec row(fields);
  ExpressionBuilder builder(TestCatalog(), row, 0);
  for (const core::FieldSpec& field : fields) {
    ASSERT_THAT(builder.AddResult(field.name, *builder.Field(field.name)), IsOk());
  }
  const Expression expression = *builder.Build();
  const auto read = ParseExpression(PrintExpression(expression), row, TestCatalog());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, expression);
}

TEST(RoundTripTest, DeepChainsComeBack) {
  ExpressionBuilder builder(TestCatalog(), TestRow(), 0);
  TermId left = *builder.Field("a");
  TermId right = left;
  TermId both = left;
  const TermId one = *builder.Literal(core::Tensor::Scalar(int64_t{1}), true);
  for (int i = 0; i < 5'000; ++i) {
    left = *builder.Call(i % 2 == 0 ? "add" : "multiply", {left, one});
    right = *builder.Call(i % 2 == 0 ? "subtract" : "add", {one, right});
    both = *builder.Call("add", {both, both});
  }
  ASSERT_THAT(builder.AddResult("left", left), IsOk());
  ASSERT_THAT(builder.AddResult("right", right), IsOk());
  ASSERT_THAT(builder.AddResult("both", both), IsOk());
  const Expression expression = *builder.Build();
  EXPECT_EQ(expression.terms().size(), 15'002);
  ExpectRoundTrip(expression);
}

TEST(RoundTripTest, LongPipelinesComeBack) {
  absl::StatusOr<Pipeline> pipeline =
      Pipeline::Make(TestCatalog(), "range", {{"stop", 10}}, {});
  for (int64_t i = 1; i < kNodesMax; ++i) {
    ASSERT_THAT(pipeline, IsOk());
    pipeline = Pipeline::Make(TestCatalog(), "shuffle", {{"window", i}}, {*pipeline});
  }
  ASSERT_THAT(pipeline, IsOk());
  ExpectRoundTrip(*pipeline);
}

}  // namespace
}  // namespace millrace::ir
