// Rows that are ready, saved by several workers, beside a plain loop that writes the
// same bytes: large files, each written and synced before the next.

#include "millrace/client/save.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/kernels.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/workload.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::bench {
namespace {

constexpr int kWorkers = 2;
constexpr int64_t kRowBytes = int64_t{1} << 20;
constexpr int64_t kFileRows = 64;  // Of the plain loop.

double RateOf(int64_t bytes, absl::Duration since) {
  const absl::Duration taken = base::RealClock().Monotonic() - since;
  return static_cast<double>(bytes) / absl::ToDoubleSeconds(taken);
}

// What is left of an earlier run is no part of what is measured.
std::string Emptied(const BenchOptions& options) {
  const std::string folder = base::StrCat(options.folder, "/save");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return folder;
}

absl::StatusOr<double> SaveOnce(const BenchOptions& options, int64_t rows) {
  const std::string text = base::StrCat(
      "%0 = range(stop=", rows,
      ")\n%1 = map(%0, function={x: ready(.value, bytes=", kRowBytes, ")})\n");
  const ir::Pipeline pipeline = TRY(ir::Parse(text, {}, ServiceLibrary().catalog()));
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = kWorkers}));
  client::SaveOptions save = {.folder = Emptied(options)};
  save.service.dispatcher = service->address();
  save.service.library = &ServiceLibrary();
  const absl::Duration begin = base::RealClock().Monotonic();
  const client::SaveProgress saved = TRY(client::Save(pipeline, save));
  return RateOf(saved.bytes, begin);
}

absl::StatusOr<double> WriteOnce(const BenchOptions& options, int64_t rows) {
  const std::string folder = Emptied(options);
  std::string row(kRowBytes, '\0');
  uint64_t word = 1;
  std::ranges::generate(row, [&word] {
    word = word * 6364136223846793005U + 1442695040888963407U;
    return static_cast<char>(word >> 56);
  });
  const absl::Duration begin = base::RealClock().Monotonic();
  for (int64_t first = 0; first < rows; first += kFileRows) {
    const std::unique_ptr<storage::BlobWriter> writer =
        TRY(storage::ProcessFiles().Create(base::StrCat(folder, "/", first)));
    for (int64_t i = 0; i < kFileRows; ++i) TRY(writer->Append(row));
    TRY(writer->Publish(storage::Sync::kNow));
  }
  return RateOf(rows * kRowBytes, begin);
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunSharingSave(const BenchOptions& options) {
  const int64_t rows = options.quick ? 256 : 2048;
  const Medians medians = TRY(Compare(
      options.repeats, [&] { return SaveOnce(options, rows); },
      [&] { return WriteOnce(options, rows); }));
  Emptied(options);
  return std::vector<Line>{{.name = base::StrCat("save by ", kWorkers, " workers"),
                            .unit = "bytes",
                            .ours = medians.ours,
                            .limit = medians.limit,
                            .limit_is = "write and sync of files of 64 MiB, one by one",
                            .bar = 0.8}};
}

}  // namespace millrace::bench
