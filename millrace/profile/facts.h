// What a pass did: measured by an engine, read by profiles and policies. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace millrace::profile {

struct OperatorFacts {
  std::string name;
  int number = 0;         // In the pipeline's text form.
  bool row_wise = false;  // Runs on all threads at once.
  absl::Duration busy;    // Over all threads.
  int64_t rows_in = 0;
  int64_t rows_out = 0;
  int64_t bytes_out = 0;
  int64_t rows_left_out = 0;  // Because they were wrong.
};

struct PassFacts {
  std::vector<OperatorFacts> operators;  // From the source on.
  int threads = 1;
  int io_threads = 1;
  absl::Duration wall;         // From opening to the last block.
  absl::Duration first_block;  // From opening to the first.
  absl::Duration waited;       // By the consumer, after the first block.
  absl::Duration fetching;     // Waiting for disks, over all I/O threads.
  int64_t blocks = 0;          // Given to the consumer.
  int64_t rows = 0;            // In them: of batches, the rows they hold.
  int64_t bytes = 0;
  int64_t memory_peak_bytes = 0;
  std::vector<std::string> first_left_out = {};  // Why, of the first rows.
};

}  // namespace millrace::profile
