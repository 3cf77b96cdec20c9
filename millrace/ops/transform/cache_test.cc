// What a cache says of itself; what it keeps is exec/cache_source_test.cc's.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ir::Pipeline Parsed(const std::string& text) {
  absl::StatusOr<ir::Pipeline> pipeline =
      ir::Parse(text, {}, DefaultLibrary().catalog());
  CHECK(pipeline.ok()) << pipeline.status();
  return *std::move(pipeline);
}

// A cache behind a range and a map.
ir::Pipeline Cached(const std::string& more = "", const std::string& stop = "100",
                    const std::string& behind = "") {
  return Parsed(base::StrCat("%0 = range(stop=", stop, ")\n",
                             "%1 = map(%0, function={x: .value * 2})\n",
                             "%2 = cache(%1", more, ")\n", behind));
}

TEST(CacheTest, RowsAndTheirNumberAreThoseOfItsInput) {
  const ir::Pipeline cache = Cached();
  EXPECT_EQ(cache.spec(), cache.inputs()[0].spec());
  EXPECT_EQ(cache.cardinality(), ir::Cardinality::Known(100));
  const ir::Pipeline unknown = Parsed(
      "%0 = range(stop=9)\n%1 = filter(%0, predicate={.value > 3})\n%2 = cache(%1)\n");
  EXPECT_EQ(unknown.cardinality(), ir::Cardinality::Unknown());
}

TEST(CacheTest, IsAMarkForWhoeverRunsIt) {
  const ir::OperatorTraits& traits = Cached().schema().traits;
  EXPECT_TRUE(traits.caches);
  EXPECT_TRUE(traits.branches());  // Lanes begin anew behind it.
  EXPECT_FALSE(traits.source);
  EXPECT_FALSE(traits.row_wise);
}

TEST(CacheTest, AnEmptyPathIsRefused) {
  EXPECT_THAT(ErrorOf("cache(%0, path=\"\")"),
              AllOf(HasSubstr("cache"), HasSubstr("argument path is empty"),
                    HasSubstr("leave it out")));
}

TEST(CacheTest, APathIsAText) {
  EXPECT_THAT(ErrorOf("cache(%0, path=3)"), HasSubstr("path"));
  EXPECT_THAT(ErrorOf("cache(%0, paths=\"a\")"), HasSubstr("paths"));
  EXPECT_THAT(ErrorOf("cache(path=\"a\")"), HasSubstr("cache"));
}

TEST(CacheTest, WhereRowsAreKeptIsNoPartOfWhatTheyAre) {
  const ir::Pipeline memory = Cached();
  const ir::Pipeline here = Cached(", path=\"here\"");
  const ir::Pipeline there = Cached(", path=\"there\"");
  EXPECT_EQ(memory.fingerprint(), here.fingerprint());
  EXPECT_EQ(here.fingerprint(), there.fingerprint());
  EXPECT_EQ(ir::RowFingerprint(here), ir::RowFingerprint(there));
}

TEST(CacheTest, WhatStandsBeforeItIs) {
  EXPECT_NE(Cached("", "100").fingerprint(), Cached("", "101").fingerprint());
  const ir::Pipeline other = Parsed(
      "%0 = range(stop=100)\n%1 = map(%0, function={x: .value * 3})\n"
      "%2 = cache(%1)\n");
  EXPECT_NE(Cached().fingerprint(), other.fingerprint());
}

// Draws before it are those of one pass in every pass: other rows than without it.
TEST(CacheTest, ACacheIsNotNothing) {
  const ir::Pipeline cache = Cached();
  EXPECT_NE(cache.fingerprint(), cache.inputs()[0].fingerprint());
}

TEST(CacheTest, WhatStandsBehindKeepsThePrefixAlike) {
  const ir::Pipeline batch = Cached("", "100", "%3 = batch(%2, size=4)\n");
  const ir::Pipeline shuffle = Cached("", "100", "%3 = shuffle(%2, window=4)\n");
  EXPECT_EQ(batch.inputs()[0].fingerprint(), shuffle.inputs()[0].fingerprint());
  EXPECT_EQ(batch.inputs()[0].fingerprint(), Cached().fingerprint());
}

TEST(CacheTest, TheTextFormComesBack) {
  for (const std::string more : {"", ", path=\"a folder/with \\\"quotes\\\"\""}) {
    const ir::Pipeline cache = Cached(more);
    const std::string text = ir::Print(cache).text;
    const ir::Pipeline again = Parsed(text);
    EXPECT_EQ(ir::Print(again).text, text);
    EXPECT_EQ(again.fingerprint(), cache.fingerprint());
    EXPECT_EQ(again.arguments()["path"].is_none(), more.empty());
  }
  EXPECT_THAT(ir::Print(Cached(", path=\"here\"")).text, HasSubstr("path=\"here\""));
  EXPECT_THAT(ir::Print(Cached(), {.for_people = true}).text, HasSubstr("cache(%1)"));
}

TEST(CacheTest, SeveralInARowAreEachTheirOwn) {
  const ir::Pipeline twice = Cached("", "100", "%3 = cache(%2)\n");
  EXPECT_EQ(twice.Nodes().size(), 4);
  EXPECT_EQ(twice.cardinality(), ir::Cardinality::Known(100));
}

}  // namespace
}  // namespace millrace::ops
