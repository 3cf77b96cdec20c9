// Logical order: the lanes one after another. Nothing is flushed at a lane's end, the
// batch goes on into the next lane, so the rows come in the same order whatever the
// batch size. This is what in-process iteration gives. A batch is found by binary
// search over the lanes' rows.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {

class LogicalOrder final : public Order {
 public:
  // Requires: one track and no carry (DealAll or DealAnew with one track make such a
  // rest); batching.rows >= 1.
  LogicalOrder(Rest rest, const Batching& batching);

  int64_t positions() const override { return positions_; }

  std::vector<LaneRange> At(int64_t position) const override;

  Rest After(int64_t taken) const override;

 private:
  std::vector<LaneRange> Rows(int64_t begin, int64_t end) const;

  Rest rest_;
  int64_t batch_rows_;
  std::vector<int64_t> ends_;  // Rows up to the end of each range.
  int64_t rows_ = 0;
  int64_t positions_ = 0;
};

}  // namespace millrace::lanes
