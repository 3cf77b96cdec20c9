// What it costs to read rows that are parsed: JSON lines of about 1 KiB with 14
// members, and CSV of 20 columns, from the page cache, on one thread.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "benchmark/benchmark.h"

#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

constexpr int64_t kFileBytes = 64 << 20;

// Numbers without end, the same ones every time.
class Draws {
 public:
  int64_t Below(int64_t end) {
    return static_cast<int64_t>(base::Mix64(++state_) % static_cast<uint64_t>(end));
  }

  std::string Word() {
    std::string word;
    for (int64_t i = 2 + Below(9); i > 0; --i) {
      word += static_cast<char>('a' + Below(26));
    }
    return word;
  }

  std::string Words(int count, std::string_view between) {
    std::string words = Word();
    for (int i = 1; i < count; ++i) words += base::StrCat(between, Word());
    return words;
  }

 private:
  uint64_t state_ = 0;
};

std::string JsonFile() {
  Draws draws;
  std::string text;
  for (int64_t row = 0; std::ssize(text) < kFileBytes; ++row) {
    text += base::StrCat(
        "{\"id\": ", row, ", \"user\": ", draws.Below(1'000'000'000), ", \"score\": 0.",
        draws.Below(1'000'000'000'000), ", \"weight\": -", draws.Below(100), ".",
        draws.Below(1000), ", \"lang\": \"en\", \"url\": \"", "https://example.com/",
        draws.Words(4, "/"), "\", \"ok\": ", row % 2 == 0 ? "true" : "false",
        ", \"tags\": [\"", draws.Words(4, "\", \""), "\"], \"box\": [",
        draws.Below(1000), ", ", draws.Below(1000), ", ");
    text += base::StrCat(draws.Below(1000), "], \"meta\": {\"source\": \"",
                         draws.Word(), "\", \"rank\": ", draws.Below(100),
                         "}, \"time\": ", 1'700'000'000 + row, ", \"title\": \"",
                         draws.Words(8, " "), "\", \"n\": ", draws.Below(1LL << 40),
                         ", \"text\": \"", draws.Words(95, " "), "\\n\\\"x\\\"\"}\n");
  }
  return text;
}

std::string CsvFile() {
  Draws draws;
  std::string text;
  for (int column = 0; column < 20; ++column) {
    text += base::StrCat(column == 0 ? "" : ",", "c", column);
  }
  text += "\n";
  for (int64_t row = 0; std::ssize(text) < kFileBytes; ++row) {
    for (int column = 0; column < 20; ++column) {
      if (column > 0) text += ",";
      if (column % 3 == 0) {
        text += base::StrCat(draws.Below(1'000'000'000));
      } else if (column % 3 == 1) {
        text += base::StrCat(draws.Below(1000), ".", draws.Below(1'000'000));
      } else {
        text += draws.Word();
      }
    }
    text += "\n";
  }
  return text;
}

int64_t ReadRows(const Source& source) {
  const std::unique_ptr<Reader> reader = *source.Open({0, 0, lanes::kRowsMax});
  int64_t rows = 0;
  while (true) {
    CHECK(reader->Fetch().ok());
    const std::optional<core::Block> block = *reader->Next(NoBadRows());
    if (!block) return rows;
    rows += block->rows();
  }
}

void ParseFile(benchmark::State& state, const std::string& source_text,
               std::string (*make)()) {
  const storage::TemporaryFolder folder;
  const std::string content = make();
  const std::string path = folder.Write("file", content);
  core::Pool pool(core::MakeHeapAllocator(), {});
  const ir::Pipeline node =
      *ir::Parse(base::StrCat("%0 = ", source_text, "(paths=[\"", path, "\"])"), {},
                 DefaultLibrary().catalog());
  const std::unique_ptr<Source> source =
      DefaultLibrary().MakeSource(node, {.pool = pool});
  CHECK(source->List().ok());
  int64_t rows = 0;
  for (auto _ : state) rows = ReadRows(*source);
  state.SetBytesProcessed(state.iterations() * std::ssize(content));
  state.counters["row_bytes"] = static_cast<double>(content.size() / rows);
}

BENCHMARK_CAPTURE(ParseFile, jsonl, std::string("read_jsonl"), JsonFile)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ParseFile, csv, std::string("read_csv"), CsvFile)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ParseFile, text, std::string("read_text"), CsvFile)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::ops
