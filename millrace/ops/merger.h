// How several streams of rows become one, row by row. Like an operator it is a
// single-threaded object that owns no thread, lock, file or clock. Who runs it asks
// which input it wants and gives it the next rows of that one, until it wants none:
//
//   while ((input = merger.Wants()) >= 0) next rows of input ──► Push, or End
//                                                                 └─► Emit
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/expression.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {

// All that what comes out may depend on, besides the rows.
struct MergeContext {
  core::Pool& pool;
  int inputs = 0;
  uint64_t seed = 0;  // Of the job; an own seed argument comes first.
  uint64_t epoch = 0;
  int64_t call_number = ir::kNoCallNumber;
  Origins* origins = nullptr;  // Set where rows that are made of others are noted.
};

class Merger {
 public:
  static constexpr int kNone = -1;

  virtual ~Merger() = default;

  // The input whose rows are needed next; kNone when there is no more to come.
  virtual int Wants() const = 0;

  // Takes the next rows of the input that is wanted.
  virtual absl::Status Push(core::Block rows, Emitter& out) = 0;

  // The input that is wanted has ended.
  virtual absl::Status End(Emitter& out) = 0;
};

}  // namespace millrace::ops
