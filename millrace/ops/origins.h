// Which rows operators make of others, for who wants to know where rows come from: a
// row that is made of others has an identity of its own, from which theirs cannot be
// told. So operators note it, where somebody gives them one of these.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

#include "millrace/core/block.h"

namespace millrace::ops {

// Rows that were made of others, such as those of a block.
struct MadeRows {
  std::vector<core::RowId> made = {};
  std::vector<core::RowId> from = {};  // Of all of them, one after the other.
  std::vector<size_t> ends = {};       // In `from`, of each row.

  void Add(const core::RowId& id, absl::Span<const core::RowId> made_of) {
    made.push_back(id);
    from.insert(from.end(), made_of.begin(), made_of.end());
    ends.push_back(from.size());
  }

  absl::Span<const core::RowId> FromOf(size_t row) const {
    const size_t begin = row == 0 ? 0 : ends[row - 1];
    return absl::MakeConstSpan(from).subspan(begin, ends[row] - begin);
  }
};

// From any thread.
class Origins {
 public:
  virtual ~Origins() = default;

  virtual void Note(MadeRows rows) = 0;
};

}  // namespace millrace::ops
