// The workloads that we are measured with, by suite: the engine beside loops by hand,
// the breadth of formats and kernels beside other systems, the service beside plain
// connections and sleeping threads, and what it shares beside plain memory and disks.
// Each makes what data it needs below a folder, once; they write nothing elsewhere.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/bench/line.h"

namespace millrace::bench {

struct BenchOptions {
  std::string folder;  // For data; it may be there from an earlier run.
  int threads = 2;
  int repeats = 5;
  std::string python = "python3";  // That other systems are installed for.
  bool quick = false;              // A look: less of everything. Of the service.
};

struct Workload {
  std::string suite;
  std::string name;
  absl::StatusOr<std::vector<Line>> (*run)(const BenchOptions& options);
};

// All of them, in the order in which they run.
const std::vector<Workload>& Workloads();

// Numbers: range, map, filter, batch.
absl::StatusOr<std::vector<Line>> RunSmallRows(const BenchOptions& options);

// JPEGs in tar files: cropped, resized, flipped; as bytes and as floats.
absl::StatusOr<std::vector<Line>> RunImages(const BenchOptions& options);

// Rows of 4 KiB to 1 MiB in TFRecord and tar files.
absl::StatusOr<std::vector<Line>> RunRecords(const BenchOptions& options);

// Rows of 100 bytes, in memory and in files, shuffled in a window of 100,000.
absl::StatusOr<std::vector<Line>> RunShuffle(const BenchOptions& options);

// Small rows, with and without meters.
absl::StatusOr<std::vector<Line>> RunMeters(const BenchOptions& options);

// The images again, on as many threads as there are processors.
absl::StatusOr<std::vector<Line>> RunScaling(const BenchOptions& options);

// Rows of 1 MiB, a small budget, and a consumer that takes nothing.
absl::StatusOr<std::vector<Line>> RunMemory(const BenchOptions& options);

// Rows of JSON and of CSV, a Parquet file: into batches of their fields.
absl::StatusOr<std::vector<Line>> RunJsonl(const BenchOptions& options);
absl::StatusOr<std::vector<Line>> RunCsv(const BenchOptions& options);
absl::StatusOr<std::vector<Line>> RunParquet(const BenchOptions& options);

// Records of TensorFlow in a TFRecord file: into batches of their features.
absl::StatusOr<std::vector<Line>> RunExample(const BenchOptions& options);

// The augmentations of SimCLR, on images in memory.
absl::StatusOr<std::vector<Line>> RunSimclr(const BenchOptions& options);

// Sequences of tokens, packed into rows of 2,048.
absl::StatusOr<std::vector<Line>> RunPack(const BenchOptions& options);

// Batches that are ready, from one worker to one consumer.
absl::StatusOr<std::vector<Line>> RunServiceStream(const BenchOptions& options);

// 1 to 32 workers whose batches take time and no processor.
absl::StatusOr<std::vector<Line>> RunServiceWorkers(const BenchOptions& options);

// Lanes that simulated workers run, and a dispatcher that writes them down.
absl::StatusOr<std::vector<Line>> RunServiceLanes(const BenchOptions& options);

// Simulated workers that only beat.
absl::StatusOr<std::vector<Line>> RunServiceHeartbeats(const BenchOptions& options);

// Every row once, beside at most once.
absl::StatusOr<std::vector<Line>> RunServiceVisits(const BenchOptions& options);

// One of four workers is killed.
absl::StatusOr<std::vector<Line>> RunServiceRecovery(const BenchOptions& options);

// From one pass to the next.
absl::StatusOr<std::vector<Line>> RunServicePasses(const BenchOptions& options);

// Size and speed of states, and of going on from them.
absl::StatusOr<std::vector<Line>> RunServiceStates(const BenchOptions& options);

// Rows saved by several workers, beside plain writes.
absl::StatusOr<std::vector<Line>> RunSharingSave(const BenchOptions& options);

// Consumers that step together, with lengths that vary: in runs of one bucket, or not.
absl::StatusOr<std::vector<Line>> RunSharingCoordinated(const BenchOptions& options);

// Batches from one process to another, in memory that both have mapped.
absl::StatusOr<std::vector<Line>> RunSharingHandOver(const BenchOptions& options);

// Four jobs that share what a worker makes of images, beside one.
absl::StatusOr<std::vector<Line>> RunSharingJobs(const BenchOptions& options);

}  // namespace millrace::bench
