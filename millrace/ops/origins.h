// Which rows operators make of others, for who wants to know where rows come from: a
// row that is made of others has an identity of its own, from which theirs cannot be
// told. So operators note it, where somebody gives them one of these.
#pragma once

#include <vector>

#include "millrace/core/block.h"

namespace millrace::ops {

// From any thread.
class Origins {
 public:
  virtual ~Origins() = default;

  // A row was made of others.
  virtual void Note(const core::RowId& made, std::vector<core::RowId> from) = 0;
};

}  // namespace millrace::ops
