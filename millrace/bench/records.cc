#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/sample_files.h"
#include "millrace/bench/workload.h"
#include "millrace/codec/crc32c.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/literal.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::bench {
namespace {

constexpr int64_t kBytes = int64_t{256} << 20;  // In all files of a line.
constexpr int kWarmUps = 3;
constexpr size_t kBuffer = 256 << 10;

using MakeFile = absl::StatusOr<std::string> (*)(const std::string&, int64_t, int64_t);

struct Format {
  std::string name;
  MakeFile make;
  std::string source;     // The operator.
  std::string arguments;  // Behind the paths.
};

// One file for each thread. Rows differ by one so that names do.
absl::StatusOr<std::vector<std::string>> MakeFiles(const Format& format,
                                                   const BenchOptions& options,
                                                   int64_t row_bytes) {
  std::vector<std::string> paths;
  const int64_t rows = kBytes / row_bytes / options.threads;
  paths.reserve(options.threads);
  for (int i = 0; i < options.threads; ++i) {
    paths.push_back(TRY(format.make(options.folder, rows + i, row_bytes)));
  }
  return paths;
}

// Reads a file as fast as the system gives it, and sums it up.
absl::Status ReadAndSum(const std::string& path) {
  const storage::BlobStore& store = storage::ProcessFiles();
  const std::unique_ptr<storage::Blob> blob = TRY(store.Open(TRY(store.Find(path))));
  std::vector<std::byte> buffer(kBuffer);
  volatile uint32_t sum = 0;
  for (int64_t offset = 0;;) {
    const int64_t read = TRY(blob->Read(offset, absl::MakeSpan(buffer)));
    if (read == 0) break;
    sum = codec::Crc32c(
        {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(read)});
    offset += read;
  }
  static_cast<void>(sum);
  return absl::OkStatus();
}

std::string PipelineOf(const Format& format, const std::vector<std::string>& paths) {
  std::string quoted;
  for (const std::string& path : paths) {
    quoted += base::StrCat(quoted.empty() ? "" : ", ", ir::Quote(path));
  }
  return base::StrCat("%0 = ", format.source, "(paths=[", quoted, "]", format.arguments,
                      ")");
}

absl::StatusOr<Line> RunSize(const Format& format, const BenchOptions& options,
                             int64_t row_bytes) {
  const std::vector<std::string> paths = TRY(MakeFiles(format, options, row_bytes));
  const std::string pipeline = PipelineOf(format, paths);
  exec::Engine engine({.threads = options.threads});
  // A pass takes milliseconds: the first ones would measure fresh memory.
  for (int i = 0; i < kWarmUps; ++i) TRY(PassRate(pipeline, engine, kBytes));
  const Medians medians = TRY(Compare(
      options.repeats, [&] { return PassRate(pipeline, engine, kBytes); },
      [&] {
        return LoopRate(options.threads, kBytes,
                        [&](int thread) { return ReadAndSum(paths[thread]); });
      }));
  return Line{
      .name = absl::StrFormat("%s, rows of %d KiB", format.name, row_bytes / 1024),
      .unit = "bytes/s",
      .ours = medians.ours,
      .limit = medians.limit,
      .limit_is = "read(2) and CRC over the same files",
      .bar = 0.8};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunRecords(const BenchOptions& options) {
  const std::vector<Format> formats = {
      {"TFRecord", MakeTfrecord, "read_tfrecord", ""},
      {"tar", MakeTar, "read_tar", ", fields=[\"bin\"]"},
  };
  std::vector<Line> lines;
  for (const Format& format : formats) {
    for (const int64_t kibibytes : {4, 64, 1024}) {
      lines.push_back(TRY(RunSize(format, options, kibibytes << 10)));
    }
  }
  return lines;
}

}  // namespace millrace::bench
