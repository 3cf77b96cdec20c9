// Walks the values of several operands together, along axes on which each operand has a
// step of its own: 0 where its one value stands for all (broadcasting), more where
// values are skipped (slicing), less than 0 backwards. Axes that lie one after the
// other in memory for every operand are joined, so that operands of one shape make a
// single run over the whole block. One thread.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

#include "millrace/core/shape.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {

// Computes `count` values of the result from as many of each operand. Gives how many it
// computed: fewer when the next one fails.
using Loop =
    absl::FunctionRef<int64_t(absl::Span<const Values>, int64_t count, ValueWriter&)>;

// One number per axis or operand; few of either.
using Sizes = absl::InlinedVector<int64_t, 4>;

class Walk {
 public:
  explicit Walk(int operands) : operands_(operands) {}

  // Adds an axis inside those added before. Requires: a step per operand, in values.
  void AddAxis(int64_t size, const Sizes& steps);

  // Adds the axes of a shape to which the operands' shapes are broadcast.
  // Requires: one shape per operand, each known and no larger than the result's.
  void AddBroadcastAxes(const core::Shape& result,
                        absl::Span<const core::Shape* const> shapes);

  // How many values the result has.
  int64_t count() const { return count_; }

  // Runs the loop over all of it, outer axes first. `firsts` are the operands' first
  // values. Gives how many values were computed: count() unless one failed.
  int64_t Run(absl::Span<const Values> firsts, Loop loop, ValueWriter& out) const;

 private:
  struct Axis {
    int64_t size = 1;
    Sizes steps;
  };

  // Steps to the next run; false after the last. `index` is the place on outer axes.
  bool Advance(Sizes& index, absl::Span<Values> operands) const;

  // Tells whether the last axis is short, and each operand either goes on beyond it or
  // starts again: an image and a number per channel.
  bool IsTiled(absl::Span<const Values> firsts) const;

  // Runs that case on long runs, by writing out what starts again a few times.
  int64_t RunTiled(absl::Span<const Values> firsts, Loop loop, ValueWriter& out) const;

  const int operands_;
  int64_t count_ = 1;
  absl::InlinedVector<Axis, 4> axes_;
};

// The steps of a value's axes in row-major order: [2, 3] has steps 3, 1.
Sizes RowMajorSteps(const core::Shape& shape);

}  // namespace millrace::kernels
