// What fingerprints of pipelines depend on, and what not: they name cached results and
// shared productions, so every mistake here is a wrong row or a cache that never hits.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/text.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/random_pipeline_test.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"

namespace millrace::ir {
namespace {

Pipeline Parsed(std::string_view text, const Catalog& catalog = TestCatalog()) {
  auto pipeline = Parse(text, {}, catalog);
  CHECK(pipeline.ok()) << pipeline.status() << "\n" << std::string(text);
  return *std::move(pipeline);
}

base::Sha256 Of(std::string_view text) { return Parsed(text).fingerprint(); }

base::Sha256 RowsOf(std::string_view text) { return RowFingerprint(Parsed(text)); }

// A pipeline over rows: `%0 = rows()`, then the given lines.
std::string Rows(std::string_view lines) {
  return base::StrCat("%0 = rows()\n", lines);
}

TEST(FingerprintTest, NamesOfNodesAndBlanksDoNotCount) {
  EXPECT_EQ(Of("%0 = range(stop=3)\n%1 = batch(%0, size=2)"),
            Of("%source=range( stop = 3 ) # Comment.\n%9 = batch(%source,size=2,)"));
}

TEST(FingerprintTest, DefaultsCountAsIfTheyWereWritten) {
  EXPECT_EQ(Of("%0 = range(stop=3)"), Of("%0 = range(start=0, stop=3, step=1)"));
}

TEST(FingerprintTest, LinesThatNobodyReadsDoNotCount) {
  EXPECT_EQ(Of("%0 = range(stop=3)"), Of("%1 = range(stop=9)\n%0 = range#0(stop=3)"));
}

TEST(FingerprintTest, NamesOfLocalsAndTheOrderOfWritingDoNotCount) {
  EXPECT_EQ(Of(Rows("%1 = map(%0, function={$0 = .a + 1; x: $0 * $0})")),
            Of(Rows("%1 = map(%0, function={x: (.a + 1) * (.a + 1)})")));
  EXPECT_EQ(Of(Rows("%1 = map(%0, function={$3 = .b; $2 = .a; x: $2 + $3})")),
            Of(Rows("%1 = map(%0, function={x: .a + .b})")));
}

TEST(FingerprintTest, CallNumbersDoNotCountWhereNothingIsDrawn) {
  EXPECT_EQ(Of("%0 = range#0(stop=3)"), Of("%0 = range#77(stop=3)"));
  EXPECT_EQ(Of("%0 = range#0(stop=3)\n%1 = batch(%0, size=2)"),
            Of("%0 = range#77(stop=3)\n%1 = batch(%0, size=2)"));
}

TEST(FingerprintTest, SeedsDoNotCountWhereNothingIsDrawn) {
  EXPECT_EQ(Of(Rows("%1 = map(%0, function={x: .a}, seed=1)")),
            Of(Rows("%1 = map(%0, function={x: .a}, seed=2)")));
  EXPECT_EQ(Of(Rows("%1 = filter(%0, predicate={.flag}, seed=1)")),
            Of(Rows("%1 = filter(%0, predicate={.flag})")));
}

TEST(FingerprintTest, SeedsCountWhereSomethingIsDrawn) {
  EXPECT_NE(Of(Rows("%1 = map(%0, function={x: uniform(0, 1)}, seed=1)")),
            Of(Rows("%1 = map(%0, function={x: uniform(0, 1)}, seed=2)")));
  EXPECT_NE(Of(Rows("%1 = map(%0, function={x: uniform(0, 1)}, seed=0)")),
            Of(Rows("%1 = map(%0, function={x: uniform(0, 1)}, seed=none)")));
  EXPECT_NE(Of(Rows("%1 = filter(%0, predicate={uniform(0, 1) < 0.5}, seed=1)")),
            Of(Rows("%1 = filter(%0, predicate={uniform(0, 1) < 0.5}, seed=2)")));
  EXPECT_NE(Of("%0 = range(stop=3)\n%1 = shuffle(%0, window=2, seed=1)"),
            Of("%0 = range(stop=3)\n%1 = shuffle(%0, window=2, seed=2)"));
}

TEST(FingerprintTest, CallNumbersCountWhereSomethingIsDrawn) {
  EXPECT_NE(Of(Rows("%1 = map(%0, function={x: uniform#1(0, 1)})")),
            Of(Rows("%1 = map(%0, function={x: uniform#2(0, 1)})")));
  EXPECT_NE(Of("%0 = range#0(stop=3)\n%1 = shuffle#1(%0, window=2)"),
            Of("%0 = range#0(stop=3)\n%1 = shuffle#2(%0, window=2)"));
}

// Draws are keyed by row identities, and those by the numbers of the sources.
TEST(FingerprintTest, NumbersOfSourcesCountWhereSomethingIsDrawnBehindThem) {
  EXPECT_NE(Of("%0 = range#0(stop=3)\n%1 = map(%0, function={x: uniform#5(0, 1)})"),
            Of("%0 = range#1(stop=3)\n%1 = map(%0, function={x: uniform#5(0, 1)})"));
  EXPECT_NE(Of("%0 = range#0(stop=3)\n%1 = batch(%0, size=2)\n"
               "%2 = shuffle#5(%1, window=2)"),
            Of("%0 = range#1(stop=3)\n%1 = batch(%0, size=2)\n"
               "%2 = shuffle#5(%1, window=2)"));
  EXPECT_NE(Of("%0 = range#0(stop=3)\n%1 = zip(%0, %0)\n%2 = shuffle#5(%1, window=2)"),
            Of("%0 = range#0(stop=3)\n%9 = range#1(stop=3)\n%1 = zip(%0, %9)\n"
               "%2 = shuffle#5(%1, window=2)"));
}

TEST(FingerprintTest, WhatIsDrawnInAnotherBranchDoesNotMatter) {
  const std::string_view drawn =
      "%0 = range#0(stop=3)\n%1 = shuffle#1(%0, window=2)\n%2 = range#7(stop=5)\n";
  const std::string_view other =
      "%0 = range#0(stop=3)\n%1 = shuffle#1(%0, window=2)\n%2 = range#8(stop=5)\n";
  EXPECT_EQ(Of(base::StrCat(drawn, "%3 = zip(%1, %2)")),
            Of(base::StrCat(other, "%3 = zip(%1, %2)")));
}

TEST(FingerprintTest, EveryChangeOfContentCounts) {
  const std::vector<std::string> texts = {
      "%0 = range(stop=3)",
      "%0 = range(stop=4)",
      "%0 = range(start=1, stop=3)",
      "%0 = rows()",
      Rows("%1 = batch(%0, size=2)"),
      Rows("%1 = batch(%0, size=3)"),
      Rows("%1 = batch(%0, size=2, drop_remainder=true)"),
      Rows("%1 = batch(%0, size=2)\n%2 = batch(%1, size=2)"),
      Rows("%1 = map(%0, function={x: .a})"),
      Rows("%1 = map(%0, function={y: .a})"),
      Rows("%1 = map(%0, function={x: .b})"),
      Rows("%1 = map(%0, function={x: .a, y: .b})"),
      Rows("%1 = map(%0, function={y: .b, x: .a})"),
      Rows("%1 = map(%0, function={x: .a + 1})"),
      Rows("%1 = map(%0, function={x: .a + 2})"),
      Rows("%1 = map(%0, function={x: .a + 1i64})"),
      Rows("%1 = map(%0, function={x: .a + 1.0})"),
      Rows("%1 = map(%0, function={x: .a - 1})"),
      Rows("%1 = map(%0, function={x: \"1\"})"),
      Rows("%1 = map(%0, function={x: b\"1\"})"),
      Rows("%1 = map(%0, function={x: fill(.a, text=\"1\")})"),
      Rows("%1 = map(%0, function={x: fill(.a, text=\"2\")})"),
      Rows("%1 = filter(%0, predicate={.flag})"),
      Rows("%1 = filter(%0, predicate={.other})"),
      Rows("%1 = shuffle(%0, window=2)"),
      Rows("%1 = shuffle(%0, window=3)"),
      "%0 = rows()\n%1 = range(stop=3)\n%2 = zip(%0, %1)",
      "%0 = rows()\n%1 = range(stop=3)\n%2 = zip(%1, %0)",
  };
  for (const std::string& a : texts) {
    for (const std::string& b : texts) {
      EXPECT_EQ(Of(a) == Of(b), a == b) << a << "\nand\n" << b;
    }
  }
}

// The test catalog with the version of one operator or kernel raised.
Catalog WithVersion(std::string_view changed, int version) {
  Catalog catalog;
  for (const auto& [name, schema] : TestCatalog().kernels()) {
    KernelSchema copy = schema;
    if (name == changed) copy.version = version;
    catalog.Add(std::move(copy));
  }
  for (const auto& [name, schema] : TestCatalog().operators()) {
    OperatorSchema copy = schema;
    if (name == changed) copy.version = version;
    catalog.Add(std::move(copy));
  }
  return catalog;
}

TEST(FingerprintTest, VersionsOfOperatorsAndKernelsCount) {
  const std::string text =
      Rows("%1 = map(%0, function={x: .a + 1})\n%2 = batch(%1, size=2)");
  for (const std::string_view used : {"rows", "map", "batch", "add"}) {
    const Catalog newer = WithVersion(used, 2);
    EXPECT_NE(Of(text), Parsed(text, newer).fingerprint()) << used;
  }
  for (const std::string_view unused : {"range", "shuffle", "subtract"}) {
    const Catalog newer = WithVersion(unused, 2);
    EXPECT_EQ(Of(text), Parsed(text, newer).fingerprint()) << unused;
  }
}

TEST(FingerprintTest, AVersionCountsFromItsOperatorOn) {
  const Catalog newer = WithVersion("map", 2);
  const std::string text =
      Rows("%1 = map(%0, function={x: .a})\n%2 = batch(%1, size=2)");
  const std::vector<Pipeline> before = Parsed(text).Nodes();
  const std::vector<Pipeline> after = Parsed(text, newer).Nodes();
  EXPECT_EQ(before[0].fingerprint(), after[0].fingerprint());
  EXPECT_NE(before[1].fingerprint(), after[1].fingerprint());
  EXPECT_NE(before[2].fingerprint(), after[2].fingerprint());
}

TEST(FingerprintTest, EveryPrefixHasTheFingerprintItHasAlone) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (const Pipeline& prefix : RandomPipeline(seed).Nodes()) {
      const PipelineText text = Print(prefix);
      const auto alone = Parse(text.text, text.attachments, TestCatalog());
      ASSERT_TRUE(alone.ok()) << alone.status();
      EXPECT_EQ(alone->fingerprint(), prefix.fingerprint());
    }
  }
}

TEST(FingerprintTest, AttachmentsCountByTheirContent) {
  Attachments given;
  given.Add(Attachment("a"));
  given.Add(Attachment("b"));
  const auto of = [&](std::string_view content) {
    const auto pipeline = Parse(base::StrCat("%0 = from_bytes(content=@",
                                             base::ToHex(base::Sha256Of(content)), ")"),
                                given, TestCatalog());
    CHECK(pipeline.ok()) << pipeline.status();
    return pipeline->fingerprint();
  };
  EXPECT_EQ(of("a"), of("a"));
  EXPECT_NE(of("a"), of("b"));
}

// Caches and stored jobs are named by it: it changes only when that is meant.
TEST(FingerprintTest, StaysAsItWas) {
  EXPECT_EQ(base::ToHex(Of("%0 = range(stop=3)\n%1 = shuffle(%0, window=2, seed=7)\n"
                           "%2 = batch(%1, size=2)")),
            "457698daa387c50d75fc907b0efb82c6516b60782b8137c4c2c5670b94daa07a");
}

TEST(FingerprintTest, RowsDoNotDependOnTheLastBatchSize) {
  EXPECT_EQ(RowsOf(Rows("%1 = batch(%0, size=2)")),
            RowsOf(Rows("%1 = batch(%0, size=3)")));
  EXPECT_EQ(RowsOf(Rows("%1 = batch(%0, size=2)\n%2 = filter(%1, predicate={true})")),
            RowsOf(Rows("%1 = batch(%0, size=3)\n%2 = filter(%1, predicate={true})")));
  EXPECT_EQ(RowsOf(Rows("%1 = batch(%0, size=2)\n%2 = shuffle(%1, window=9)")),
            RowsOf(Rows("%1 = batch(%0, size=3)\n%2 = shuffle(%1, window=9)")));
}

TEST(FingerprintTest, RowsDependOnAllElse) {
  const std::vector<std::string> texts = {
      Rows("%1 = batch(%0, size=2)"),
      Rows("%1 = batch(%0, size=2, drop_remainder=true)"),
      Rows("%1 = batch(%0, size=2)\n%2 = batch(%1, size=9)"),
      Rows("%1 = batch(%0, size=3)\n%2 = batch(%1, size=9)"),
      Rows("%1 = map(%0, function={a: .a})\n%2 = batch(%1, size=2)"),
      Rows("%1 = shuffle(%0, window=2)\n%2 = batch(%1, size=2)"),
      Rows("%1 = shuffle(%0, window=3)\n%2 = batch(%1, size=2)"),
      Rows("%1 = batch(%0, size=2)\n%2 = shuffle(%1, window=2)"),
      Rows("%1 = batch(%0, size=2)\n%2 = shuffle(%1, window=3)"),
      "%0 = range(stop=3)\n%1 = batch(%0, size=2)",
  };
  for (const std::string& a : texts) {
    for (const std::string& b : texts) {
      EXPECT_EQ(RowsOf(a) == RowsOf(b), a == b) << a << "\nand\n" << b;
    }
  }
}

TEST(FingerprintTest, WithoutBatchesRowsHaveThePipelinesFingerprint) {
  for (const std::string& text :
       {Rows(""), Rows("%1 = map(%0, function={x: uniform(0, 1)})"),
        Rows("%1 = shuffle(%0, window=2)\n%2 = filter(%1, predicate={.flag})"),
        std::string("%0 = range(stop=3)\n%1 = zip(%0, %0)")}) {
    EXPECT_EQ(RowsOf(text), Of(text)) << text;
  }
}

TEST(FingerprintTest, BatchesInsideBranchesCount) {
  const auto zipped = [](int size) {
    return base::StrCat("%0 = range(stop=3)\n%1 = batch(%0, size=", size,
                        ")\n%2 = zip(%1, %0)");
  };
  EXPECT_NE(RowsOf(zipped(2)), RowsOf(zipped(3)));
}

}  // namespace
}  // namespace millrace::ir
