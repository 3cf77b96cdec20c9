// What every operator promises when it runs alone, over the whole catalog.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {
namespace {

using ops::Collector;

// Runs one operator over rows that come in blocks of a size.
Collector RunInBlocks(const ir::Pipeline& node, const core::Block& rows, int64_t size) {
  const ops::LaneContext lane = {
      .pool = core::HeapPool(), .seed = 5, .epoch = 1, .lane = {8, 9}};
  const std::unique_ptr<ops::Operator> runs = ops::DefaultLibrary().Make(node, lane);
  Collector out;
  for (int64_t at = 0; at < rows.rows(); at += size) {
    const int64_t count = std::min(size, rows.rows() - at);
    CHECK(runs->Push(rows.Slice(at, count), out).ok());
  }
  absl::StatusOr<ops::Held> held = ops::Held::kMore;
  while (*held == ops::Held::kMore) {
    held = runs->Finish(out);
    CHECK(held.ok()) << held.status();
  }
  return out;
}

// An example of every operator; a new one must be added here.
std::map<std::string, std::string> Examples() {
  return {
      {"range", "range(stop=1000)"},
      {"map", "map(%0, function={a: .value * 3, b: normal(0.0, 1.0)})"},
      {"filter", "filter(%0, predicate={.value % 7 < 3 or uniform(0.0, 1.0) < 0.2})"},
      {"shuffle", "shuffle(%0, window=60)"},
      {"batch", "batch(%0, size=17)"},
      {"unbatch", "unbatch(%0)"},
      {"take", "take(%0, count=777)"},
      {"skip", "skip(%0, count=333)"},
      {"shard", "shard(%0, shards=7, index=3)"},
      {"enumerate", "enumerate(%0)"},
      {"select", "select(%0, fields=[\"value\"])"},
      {"drop", "drop(%0, fields=[])"},
      {"rename", "rename(%0, from=[\"value\"], to=[\"x\"])"},
  };
}

TEST(OperatorConformanceTest, EveryOperatorHasAnExample) {
  for (const auto& [name, schema] : ops::DefaultLibrary().catalog().operators()) {
    EXPECT_TRUE(Examples().contains(name)) << "add an example of " << name;
    EXPECT_FALSE(schema.doc.empty()) << name;
    for (const ir::ArgumentSchema& argument : schema.arguments) {
      EXPECT_FALSE(argument.doc.empty()) << name << "." << argument.name;
    }
  }
}

TEST(OperatorConformanceTest, WhatComesOutDoesNotDependOnHowRowsWereCutIntoBlocks) {
  const core::Block rows = Joined(MustRun("%0 = range(stop=1000)", {.with_ids = true}));
  const core::Block batched = rows.Stack(4);
  for (const auto& [name, example] : Examples()) {
    if (name == "range") continue;
    const bool batches = name == "unbatch";
    const core::Block& input = batches ? batched : rows;
    const ir::Pipeline node = MustParse(
        batches ? base::StrCat("%0 = range(stop=1000)\n%1 = batch(%0, size=4)\n%2 = ",
                               "unbatch(%1)")
                : base::StrCat("%0 = range(stop=1000)\n%1 = ", example));
    const Collector whole = RunInBlocks(node, input, 1000);
    for (const int64_t size : {1, 7, 64, 999}) {
      const Collector cut = RunInBlocks(node, input, size);
      EXPECT_TRUE(core::SameRows(Joined(whole.blocks), Joined(cut.blocks)))
          << name << " in blocks of " << size;
      EXPECT_TRUE(core::SameRows(whole.tail, cut.tail)) << name;
    }
  }
}

TEST(OperatorConformanceTest, ASourceGivesTheSameRowsHoweverTheyAreAskedFor) {
  for (const auto& [name, example] : Examples()) {
    const ir::OperatorSchema* schema =
        *ops::DefaultLibrary().catalog().FindOperator(name);
    if (!schema->traits.source) continue;
    const ir::Pipeline node = MustParse(base::StrCat("%0 = ", example));
    const auto source =
        ops::DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
    const std::vector<core::Block> whole = *ops::ReadAll(*source, {0, 0, 1000});
    std::vector<core::Block> parts;
    for (int64_t at = 0; at < 1000; at += 125) {
      const std::vector<core::Block> part = *ops::ReadAll(*source, {0, at, at + 125});
      parts.insert(parts.end(), part.begin(), part.end());
    }
    EXPECT_TRUE(core::SameRows(Joined(whole), Joined(parts))) << name;
    std::set<std::pair<uint64_t, uint64_t>> ids;
    const core::Block rows = Joined(whole);
    for (int64_t i = 0; i < rows.rows(); ++i) {
      ids.insert({rows.IdAt(i).hi, rows.IdAt(i).lo});
    }
    EXPECT_EQ(ids.size(), 1000U) << name << " gives two rows one identity";
  }
}

}  // namespace
}  // namespace millrace::exec
