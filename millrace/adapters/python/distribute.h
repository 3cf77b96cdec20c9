// A pipeline as one of several consumers reads it, without a service: rounds of one
// batch for each, in the logical order of all rows. What is done row by row before the
// last batch is done for this consumer's rows alone; all before it for all of them.
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/adapters/python/pipeline.h"

namespace millrace::python {

struct Distribution {
  int64_t consumers = 1;
  int64_t consumer = 0;
  int64_t batch = 0;    // Rows of a batch of this consumer; 0: as the pipeline says.
  int64_t skipped = 0;  // Rows of all consumers, taken before.
  bool drop = false;    // Leaves out what is not enough for all.
  std::optional<int64_t> rows = {};  // Of the shared part, where known.
};

struct Distributed {
  Pipeline pipeline;
  int64_t batch = 1;  // Rows of a batch.
  Pipeline shared;    // What all consumers run.
};

// Throws where there is a batch of no size, such as of bucket.
Distributed Distribute(const Pipeline& pipeline, const Distribution& distribution);

}  // namespace millrace::python
