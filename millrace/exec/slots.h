// Where rows will lie in their batch. The last row-wise stage before `batch` writes
// each row where the batch will have it, so that joining the rows is no copy. A slot
// table gives out the places: it makes a batch's memory when its first row is claimed
// and lets go of it with the last. Rows may be claimed in any order, also by several
// lanes: a batch can begin in one and end in the next. A batch of which some rows lie
// elsewhere is given up, with its memory: its rows are joined by copying. Not
// thread-safe: the engine's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/stages.h"

namespace millrace::exec {

// Of a field of which no shape is known beforehand: its rows may be all of one.
inline constexpr int64_t kSeenLater = -1;

// The shape of a batch, as far as its slots go.
struct SlotShape {
  int64_t batch_rows = 0;
  // By field; 0 where rows are not written in place, or kSeenLater.
  std::vector<int64_t> row_bytes;
};

// Tells whether a stage can write into slots, and what they look like: it comes right
// before a batch operator, gives a row for each row, and ends in an operator that can.
// Only rows that are worth it: small ones are better worked on many at a time.
std::optional<SlotShape> SlotsBehind(const PassPlan& plan, const Stage& stage);

class SlotTable {
 public:
  SlotTable(SlotShape shape, core::Pool& pool);

  // How many rows from a position of the pass on are in one batch.
  int64_t RowsFrom(int64_t position) const {
    return shape_.batch_rows - position % shape_.batch_rows;
  }

  // Takes from rows that were made how large those are whose size nobody said: the next
  // ones will be alike. Where they are not, they are joined by copying from then on.
  void See(const core::Block& rows);

  // Gives the places of rows from a position of the pass on, by field; none where the
  // batch was given up, or there is no memory for it. Requires: they are in one batch,
  // and each row is claimed once.
  std::vector<core::Buffer> Claim(int64_t position, int64_t rows);

  // Says that these rows, which are not claimed, lie elsewhere.
  void GiveUp(int64_t position, int64_t rows);

  // Lets go of batches that begin between these positions: nobody will fill them.
  void Drop(int64_t begin, int64_t end);

  // Batches of which some rows are claimed and some not.
  int64_t open() const { return static_cast<int64_t>(batches_.size()); }

 private:
  struct Batch {
    std::vector<core::Buffer> fields;  // None: it was given up.
    int64_t claimed = 0;               // Rows, or given up.
  };

  using Batches = std::map<int64_t, Batch>;  // By number.

  // The batch of a position, made where it is not there yet.
  Batches::iterator Find(int64_t position);
  std::vector<core::Buffer> MakeFields() const;
  void Count(Batches::iterator batch, int64_t rows);

  SlotShape shape_;
  std::vector<bool> guessed_;  // By field: its size is that of rows that were seen.
  core::Pool& pool_;
  Batches batches_;
};

}  // namespace millrace::exec
