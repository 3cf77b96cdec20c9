#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/beside_peer.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/sample_files.h"
#include "millrace/bench/workload.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/literal.h"

namespace millrace::bench {
namespace {

constexpr int64_t kJsonRows = 200'000;
constexpr int64_t kJsonTextBytes = 780;  // So that a row has about 1 KiB.
constexpr int64_t kCsvRows = 500'000;
constexpr int64_t kCsvColumns = 20;
constexpr int64_t kParquetRows = 2'000'000;

std::string Words(base::Generator& draw, int64_t bytes) {
  std::string text;
  while (static_cast<int64_t>(text.size()) < bytes) {
    const int64_t letters = draw.Integer(2, 10);
    for (int64_t i = 0; i < letters; ++i) {
      text += static_cast<char>('a' + draw.Integer(0, 26));
    }
    text += ' ';
  }
  return text;
}

std::string JsonRow(int64_t row, base::Generator& draw) {
  std::string text = base::StrCat("{\"id\": ", row, ", \"score\": ", draw.Uniform());
  for (int64_t i = 0; i < 8; ++i) {
    text += base::StrCat(", \"count", i, "\": ", draw.Integer(0, 1'000'000));
  }
  text += base::StrCat(", \"name\": \"", Words(draw, 12), "\", \"ok\": true");
  return base::StrCat(text, ", \"text\": \"", Words(draw, kJsonTextBytes), "\"}\n");
}

// Whole and broken numbers, and short texts.
std::string CsvRow(int64_t row, base::Generator& draw) {
  std::string text = base::StrCat(row);
  for (int64_t column = 1; column < kCsvColumns; ++column) {
    switch (column % 3) {
      case 0:
        text += base::StrCat(",", draw.Integer(-100'000, 100'000));
        break;
      case 1:
        text += base::StrCat(",", draw.Uniform() * 1000);
        break;
      default:
        text += base::StrCat(",", Words(draw, 6));
    }
  }
  return text + "\n";
}

std::string CsvHeader() {
  std::string text = "c0";
  for (int64_t column = 1; column < kCsvColumns; ++column) {
    text += base::StrCat(",c", column);
  }
  return text + "\n";
}

std::string Reading(const std::string& source, const std::string& path) {
  return base::StrCat("%0 = ", source, "(paths=[", ir::Quote(path),
                      "])\n%1 = ragged_batch(%0, size=1024)\n");
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunJsonl(const BenchOptions& options) {
  base::Generator draw(base::RandomKey(1, 0, 0), {});
  const RowFile file =
      TRY(MakeRowFile(base::StrCat(options.folder, "/rows.jsonl"), "", kJsonRows,
                      [&](int64_t row) { return JsonRow(row, draw); }));
  exec::Engine engine({.threads = options.threads});
  const std::string pipeline = Reading("read_jsonl", file.path);
  const double rate = TRY(MedianOf(
      options.repeats, [&] { return PassRate(pipeline, engine, file.bytes); }));
  return std::vector<Line>{{.name = "JSONL, 1 KiB rows, to fields",
                            .unit = "bytes/s per core",
                            .ours = rate / options.threads,
                            .limit = 1e9,
                            .limit_is = "1 GB/s per core",
                            .bar = 1.0}};
}

absl::StatusOr<std::vector<Line>> RunCsv(const BenchOptions& options) {
  base::Generator draw(base::RandomKey(2, 0, 0), {});
  const RowFile file =
      TRY(MakeRowFile(base::StrCat(options.folder, "/rows.csv"), CsvHeader(), kCsvRows,
                      [&](int64_t row) { return CsvRow(row, draw); }));
  exec::Engine engine({.threads = options.threads});
  const std::string pipeline = Reading("read_csv", file.path);
  return BesidePeer(
      options,
      {.program = "read_csv",
       .arguments = {file.path, base::StrCat(kCsvRows), base::StrCat(options.threads)}},
      [&] { return PassRate(pipeline, engine, kCsvRows); },
      {.name = "CSV, 20 columns",
       .unit = "rows/s",
       .limit_is = "Arrow's CSV reader, into a table",
       .bar = 0.8});
}

absl::StatusOr<std::vector<Line>> RunParquet(const BenchOptions& options) {
  const std::string path = base::StrCat(options.folder, "/columns.parquet");
  const PeerCall scan = {
      .program = "read_parquet",
      .arguments = {path, base::StrCat(kParquetRows), base::StrCat(options.threads)},
      .makes_data = true};
  exec::Engine engine({.threads = options.threads});
  const std::string pipeline = Reading("read_parquet", path);
  return BesidePeer(options, scan,
                    [&] { return PassRate(pipeline, engine, kParquetRows); },
                    {.name = "Parquet, 20 columns of numbers",
                     .unit = "rows/s",
                     .limit_is = "Arrow's scan into a table",
                     .bar = 0.8});
}

}  // namespace millrace::bench
