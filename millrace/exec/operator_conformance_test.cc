// What every operator promises when it runs alone, over the whole catalog.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/save.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/packed_rows.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

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

// Files that the examples of sources read, with an index where they can have one.
class SampleFiles {
 public:
  SampleFiles() {
    std::vector<std::string> records;
    std::string tar;
    std::string text;
    std::string json;
    std::string csv = "id,name\n";
    for (int row = 0; row < 300; ++row) {
      const std::string content = storage::Noise(row * 7919 % 400'000 / 100, row);
      records.push_back(content);
      tar += storage::TarMember(base::StrCat(row, ".jpg"), content);
      tar += storage::TarMember(base::StrCat(row, ".cls"), base::StrCat(row));
      text += base::StrCat("line ", row, "\n");
      json +=
          base::StrCat("{\"id\": ", row, ", \"m\": {\"tags\": [\"a", row, "\"]}}\n");
      csv += base::StrCat(row, ",\"a, ", row, "\"\n");
      folder_.Write(base::StrCat("images/class", row % 3, "/", row, ".jpg"), content);
    }
    folder_.Write("rows.tar", tar + storage::TarEnd());
    folder_.Write("rows.tfrecord", storage::TfrecordOf(records));
    folder_.Write("rows.txt", text);
    folder_.Write("rows.jsonl", json);
    folder_.Write("rows.csv", csv);
    for (const char* name :
         {"rows.tar", "rows.tfrecord", "rows.txt", "rows.jsonl", "rows.csv"}) {
      std::filesystem::copy(folder_ / name, folder_ / base::StrCat("indexed-", name));
    }
    ops::AddIndex(folder_ / "indexed-rows.tar", storage::RowFormat::kTar);
    ops::AddIndex(folder_ / "indexed-rows.tfrecord", storage::RowFormat::kTfrecord);
    ops::AddIndex(folder_ / "indexed-rows.txt", storage::RowFormat::kLines);
    ops::AddIndex(folder_ / "indexed-rows.jsonl", storage::RowFormat::kLines);
    ops::AddIndex(folder_ / "indexed-rows.csv", storage::RowFormat::kCsv);
    Engine engine({});
    const absl::StatusOr<Saved> saved =
        Save(engine, AsWritten("%0 = range(stop=3000)"), ops::DefaultLibrary(),
             {.folder = folder_ / "saved"});
    CHECK(saved.ok()) << saved.status();
  }

  // Puts the folder's path in place of the $ in an example.
  std::string Fill(const std::string& example) const {
    return absl::StrReplaceAll(example, {{"$", folder_.path()}});
  }

 private:
  const storage::TemporaryFolder folder_;
};

const SampleFiles& Files() {
  static const SampleFiles files;
  return files;
}

const ir::Attachment& Array() {
  static const auto& array = *new ir::Attachment(ir::EncodeTensor(
      core::Tensor::FromValues<int64_t>(std::vector<int64_t>(1000, 7), {500, 2})));
  return array;
}

// Rows of differing shape.
const ops::PackedRows& Rows() {
  static const auto& packed = *new ops::PackedRows([] {
    std::vector<ops::GivenRow> rows;
    for (int64_t i = 0; i < 300; ++i) {
      const std::vector<int64_t> numbers(i % 7, i);
      rows.push_back({{"x", core::Tensor::FromValues<int64_t>(numbers, {i % 7})},
                      {"t", core::Tensor::Text(base::StrCat("text ", i))}});
    }
    return *ops::PackRows(rows);
  }());
  return packed;
}

// "[@12ab, @34cd]".
std::string ListOf(const std::vector<ir::Attachment>& attachments) {
  std::vector<std::string> names;
  names.reserve(attachments.size());
  for (const ir::Attachment& attachment : attachments) {
    names.push_back(base::StrCat("@", base::ToHex(attachment.hash())));
  }
  return base::StrCat("[", absl::StrJoin(names, ", "), "]");
}

// An example of every operator; a new one must be added here.
std::map<std::string, std::string> Examples() {
  std::map<std::string, std::string> examples = {
      {"range", "range(stop=1000)"},
      {"from_arrays", base::StrCat("from_arrays(names=[\"x\"], arrays=[@",
                                   base::ToHex(Array().hash()), "])")},
      {"from_rows",
       base::StrCat("from_rows(names=[\"x\", \"t\"], values=", ListOf(Rows().values),
                    ", shapes=", ListOf(Rows().shapes), ")")},
      {"read_files", "read_files(paths=[\"$/images/*/*\"])"},
      {"read_images", "read_images(paths=[\"$/images\"])"},
      {"random", "random(count=1000)"},
      {"read", "read(paths=[\"$/*.csv\"])"},
      {"read_csv", "read_csv(paths=[\"$/*.csv\"])"},
      {"read_fixed", "read_fixed(paths=[\"$/rows.tar\"], record_bytes=512)"},
      {"read_frames", "read_frames(paths=[\"$/saved/*.frames\"])"},
      {"load", "load(path=\"$/saved\")"},
      {"read_jsonl", "read_jsonl(paths=[\"$/*.jsonl\"])"},
      {"read_tar", "read_tar(paths=[\"$/*.tar\"], fields=[\"jpg\", \"cls\"])"},
      {"read_text", "read_text(paths=[\"$/*.txt\"])"},
      {"read_tfrecord", "read_tfrecord(paths=[\"$/*.tfrecord\"])"},
      {"map", "map(%0, function={a: .value * 3, b: normal(0.0, 1.0)})"},
      {"filter", "filter(%0, predicate={.value % 7 < 3 or uniform(0.0, 1.0) < 0.2})"},
      {"shuffle", "shuffle(%0, window=60)"},
      {"global_shuffle", "global_shuffle(%0)"},
      {"batch", "batch(%0, size=17)"},
      {"ragged_batch", "ragged_batch(%0, size=17)"},
      {"flat_map", "flat_map(%0, function={x: .value * 2, n: 1})"},
      {"bucket",
       "bucket(%0, length={.value % 100}, up_to=[20, 60], sizes=[8, 4, 2], group=3)"},
      {"window", "window(%0, size=9, shift=4, stride=2)"},
      {"group_by", "group_by(%0, key={.value % 13}, size=7)"},
      {"pack", "pack(%0, size=10)"},
      {"take_while", "take_while(%0, predicate={.value < 717})"},
      {"unique", "unique(%0)"},
      {"resample", "resample(%0, label={.value % 3}, target=[1.0, 2.0, 3.0])"},
      {"scan",
       "scan(%0, state=\"{s: int64}\", function={x: .\"state.s\", \"state.s\": "
       ".\"state.s\" * 3 + "
       ".value})"},
      {"reduce",
       "reduce(%0, state=\"{s: int64}\", function={\"state.s\": .\"state.s\" * 3 + "
       ".value})"},
      {"padded_batch", "padded_batch(%0, size=17, to_multiple_of=4)"},
      {"unbatch", "unbatch(%0)"},
      {"rebatch", "rebatch(%0, size=17)"},
      {"take", "take(%0, count=777)"},
      {"skip", "skip(%0, count=333)"},
      {"shard", "shard(%0, shards=7, index=3)"},
      {"enumerate", "enumerate(%0)"},
      {"select", "select(%0, fields=[\"value\"])"},
      {"drop", "drop(%0, fields=[])"},
      {"ignore_errors", "ignore_errors(%0)"},
      {"prefetch", "prefetch(%0)"},
      {"cache", "cache(%0)"},
      {"rename", "rename(%0, from=[\"value\"], to=[\"x\"])"},
      {"repeat", "repeat(%0, count=2)"},
      {"concat", "concat(%0, %0)"},
      {"zip", "rename(%0, from=[\"value\"], to=[\"x\"])\n%2 = zip(%0, %1)"},
      {"mix", "mix(%0, %0)"},
      {"write_rows", "write_rows(%0, path=\"$/written\")"},
      {"choose", "map(%0, function={x: .value % 2})\n%2 = choose(%1, %0, %0)"},
  };
  for (auto& [name, example] : examples) example = Files().Fill(example);
  return examples;
}

bool TakesBatches(const std::string& example) {
  return example.starts_with("unbatch") || example.starts_with("rebatch") ||
         example.starts_with("flat_map") || example.starts_with("pack");
}

// The node of an example, behind a source that those with an input read.
ir::Pipeline NodeOf(const std::string& example) {
  ir::Attachments attachments;
  attachments.Add(Array());
  for (const ir::Attachment& of : Rows().values) attachments.Add(of);
  for (const ir::Attachment& of : Rows().shapes) attachments.Add(of);
  const bool takes_batches = TakesBatches(example);
  const std::string text =
      takes_batches ? base::StrCat("batch(%0, size=4)\n%2 = ",
                                   absl::StrReplaceAll(example, {{"%0", "%1"}}))
                    : example;
  absl::StatusOr<ir::Pipeline> node =
      ir::Parse(base::StrCat("%0 = range(stop=1000)\n%1 = ", text), attachments,
                ops::DefaultLibrary().catalog());
  CHECK(node.ok()) << node.status();
  return *std::move(node);
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
    const ir::Pipeline node = NodeOf(example);
    const ir::OperatorTraits& traits = node.schema().traits;
    if (traits.source || traits.branches()) continue;
    if (!ops::DefaultLibrary().StepsOf(node).empty()) continue;  // It runs as others.
    const core::Block& input = TakesBatches(name) ? batched : rows;
    const Collector whole = RunInBlocks(node, input, 1000);
    for (const int64_t size : {1, 7, 64, 999}) {
      const Collector cut = RunInBlocks(node, input, size);
      EXPECT_TRUE(core::SameRows(Joined(whole.blocks), Joined(cut.blocks)))
          << name << " in blocks of " << size;
      EXPECT_TRUE(core::SameRows(whole.tail, cut.tail)) << name;
    }
  }
}

// Calls `test` with every source, listed.
void WithEverySource(absl::FunctionRef<void(const ir::Pipeline&, const ops::Source&,
                                            const lanes::Manifest&)>
                         test) {
  for (const auto& [name, example] : Examples()) {
    const ir::Pipeline node = NodeOf(example);
    if (!node.schema().traits.source) continue;
    const auto source =
        ops::DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
    const absl::StatusOr<lanes::Manifest> manifest = source->List();
    ASSERT_TRUE(manifest.ok()) << name << ": " << manifest.status();
    ASSERT_TRUE(lanes::Check(*manifest).ok()) << name;
    test(node, *source, *manifest);
  }
}

std::vector<core::Block> ReadRows(const ops::Source& source,
                                  const lanes::RowRange& rows) {
  absl::StatusOr<std::vector<core::Block>> blocks = ops::ReadAll(source, rows);
  CHECK(blocks.ok()) << blocks.status();
  return *std::move(blocks);
}

TEST(OperatorConformanceTest, ASourceGivesTheSameRowsHoweverTheyAreAskedFor) {
  WithEverySource([](const ir::Pipeline& node, const ops::Source& source,
                     const lanes::Manifest& manifest) {
    for (int64_t i = 0; i < std::ssize(manifest.splits); ++i) {
      const lanes::Split& split = manifest.splits[i];
      const core::Block whole = Joined(ReadRows(source, ops::WholeSplit(manifest, i)));
      EXPECT_EQ(whole.rows(), split.rows.value_or(whole.rows())) << split.name;
      if (!split.seekable) continue;
      std::vector<core::Block> parts;
      for (int64_t at = 0; at < whole.rows(); at += 125) {
        for (core::Block& part :
             ReadRows(source, {i, at, std::min(at + 125, whole.rows())})) {
          parts.push_back(std::move(part));
        }
      }
      EXPECT_TRUE(core::SameRows(whole, Joined(parts))) << node.name();
    }
  });
}

TEST(OperatorConformanceTest, ASourceGivesTheRowsThatItsSpecPromises) {
  WithEverySource([](const ir::Pipeline& node, const ops::Source& source,
                     const lanes::Manifest& manifest) {
    int64_t rows = 0;
    for (int64_t i = 0; i < std::ssize(manifest.splits); ++i) {
      for (const core::Block& block : ReadRows(source, ops::WholeSplit(manifest, i))) {
        EXPECT_TRUE(core::CheckAdmits(node.spec(), block).ok()) << node.name();
        rows += block.rows();
      }
    }
    EXPECT_GT(rows, 0) << node.name();
    const bool known = node.cardinality().known();
    EXPECT_EQ(rows, known ? node.cardinality().rows() : rows) << node.name();
  });
}

TEST(OperatorConformanceTest, ASourceGivesNoTwoRowsOneIdentity) {
  WithEverySource([](const ir::Pipeline& node, const ops::Source& source,
                     const lanes::Manifest& manifest) {
    std::set<core::RowId> ids;
    int64_t count = 0;
    for (int64_t i = 0; i < std::ssize(manifest.splits); ++i) {
      for (const core::Block& block : ReadRows(source, ops::WholeSplit(manifest, i))) {
        for (int64_t row = 0; row < block.rows(); ++row) ids.insert(block.IdAt(row));
        count += block.rows();
      }
    }
    EXPECT_EQ(std::ssize(ids), count) << node.name();
  });
}

TEST(OperatorConformanceTest, AnIndexedFileGivesTheRowsOfTheSameFileWithoutIndex) {
  WithEverySource([](const ir::Pipeline& node, const ops::Source& source,
                     const lanes::Manifest& manifest) {
    if (manifest.counted()) return;
    ASSERT_EQ(manifest.splits.size(), 2U) << node.name();
    ASSERT_TRUE(manifest.splits[0].seekable && !manifest.splits[1].seekable);
    const core::Block indexed = Joined(ReadRows(source, ops::WholeSplit(manifest, 0)));
    const core::Block plain = Joined(ReadRows(source, ops::WholeSplit(manifest, 1)));
    ASSERT_EQ(indexed.columns().size(), plain.columns().size());
    for (size_t i = 0; i < plain.columns().size(); ++i) {
      EXPECT_TRUE(core::SameRows(indexed.columns()[i], plain.columns()[i]))
          << node.name() << "." << plain.names()[i];
    }
  });
}

}  // namespace
}  // namespace millrace::exec
