// Rows that are ready, saved by several workers, beside a plain loop that writes the
// same bytes: large files, each written and synced before the next. And what it costs
// that a worker is killed meanwhile.

#include "millrace/client/save.h"

#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
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
#include "millrace/bench/service/worker_processes.h"
#include "millrace/bench/workload.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::bench {
namespace {

constexpr int kWorkers = 2;
// A row is a file, there and in the plain loop: as large as lanes are whose bytes are
// known.
constexpr int64_t kRowBytes = int64_t{64} << 20;
constexpr int64_t kPieceBytes = int64_t{1} << 20;  // The plain loop writes at a time.

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

absl::StatusOr<ir::Pipeline> Rows(int64_t rows, const std::string& function) {
  const std::string text = base::StrCat(
      "%0 = range(stop=", rows, ")\n%1 = map(%0, function={x: ", function, "})\n");
  return ir::Parse(text, {}, ServiceLibrary().catalog());
}

client::SaveOptions SaveTo(const BenchOptions& options, const LocalService& service) {
  client::SaveOptions save = {.folder = Emptied(options)};
  save.service.dispatcher = service.address();
  save.service.library = &ServiceLibrary();
  return save;
}

absl::StatusOr<double> SaveOnce(const BenchOptions& options, int64_t rows) {
  const ir::Pipeline pipeline =
      TRY(Rows(rows, base::StrCat("ready(.value, bytes=", kRowBytes, ")")));
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = kWorkers}));
  const client::SaveOptions save = SaveTo(options, *service);
  const absl::Duration begin = base::RealClock().Monotonic();
  const client::SaveProgress saved = TRY(client::Save(pipeline, save));
  return RateOf(saved.bytes, begin);
}

absl::StatusOr<double> WriteOnce(const BenchOptions& options, int64_t rows) {
  const std::string folder = Emptied(options);
  std::string piece(kPieceBytes, '\0');
  uint64_t word = 1;
  std::ranges::generate(piece, [&word] {
    word = word * 6364136223846793005U + 1442695040888963407U;
    return static_cast<char>(word >> 56);
  });
  const absl::Duration begin = base::RealClock().Monotonic();
  for (int64_t row = 0; row < rows; ++row) {
    const std::unique_ptr<storage::BlobWriter> writer =
        TRY(storage::ProcessFiles().Create(base::StrCat(folder, "/", row)));
    for (int64_t at = 0; at < kRowBytes; at += kPieceBytes) TRY(writer->Append(piece));
    TRY(writer->Publish(storage::Sync::kNow));
  }
  return RateOf(rows * kRowBytes, begin);
}

// The lanes that are there, each with the number of its file: one that is written again
// is another file.
using Files = std::map<std::string, ino_t>;

Files FilesIn(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    struct stat facts = {};
    const bool known = stat(entry.path().c_str(), &facts) == 0;
    if (known && entry.path().extension() != ".json") {
      files[entry.path().filename()] = facts.st_ino;
    }
  }
  return files;
}

struct Loss {
  int64_t there = 0;  // Lanes, when a worker was killed.
  int64_t again = 0;  // Of these, that were written again.
};

// Saves rows that take a while; one of the workers is killed when a quarter of the
// lanes are there.
absl::StatusOr<Loss> SaveThroughKill(const BenchOptions& options) {
  const WorkerProcesses workers =
      TRY(StartWorkerProcesses(kWorkers));  // Before there are threads.
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = 0}));
  TRY(Join(workers, service->address().port));
  const ir::Pipeline pipeline =
      TRY(Rows(options.quick ? 4000 : 8000, "nap(.value, microseconds=1000)"));
  client::SaveOptions save = SaveTo(options, *service);
  Files before;
  save.interrupt = [&](const client::SaveProgress& progress) {
    const bool now =
        before.empty() && progress.done * 4 >= progress.lanes && progress.done > 0;
    if (now) {
      before = FilesIn(save.folder);
      workers.front()->Kill();
    }
    return false;
  };
  TRY(client::Save(pipeline, save).status());
  const Files after = FilesIn(save.folder);
  Loss loss{.there = std::ssize(before)};
  for (const auto& [name, file] : before) {
    const auto found = after.find(name);
    if (found == after.end() || found->second != file) ++loss.again;
  }
  return loss;
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunSharingSave(const BenchOptions& options) {
  const Loss loss = TRY(SaveThroughKill(options));
  const int64_t rows = options.quick ? 8 : 32;
  // Many short ones, by turns: a disk that others use changes from second to second.
  const int turns = options.repeats * (options.quick ? 1 : 4);
  const Medians medians = TRY(Compare(
      turns, [&] { return SaveOnce(options, rows); },
      [&] { return WriteOnce(options, rows); }));
  Emptied(options);
  return std::vector<Line>{{.name = base::StrCat("save by ", kWorkers, " workers"),
                            .unit = "bytes",
                            .ours = medians.ours,
                            .limit = medians.limit,
                            .limit_is = "write and sync of files of 64 MiB, one by one",
                            .bar = 0.8},
                           {.name = "written again after kill -9 of one worker",
                            .unit = "lanes that were there",
                            .ours = static_cast<double>(loss.again),
                            .limit = static_cast<double>(loss.there),
                            .limit_is = "all that were there",
                            .bar = 0,
                            .at_most = true}};
}

}  // namespace millrace::bench
