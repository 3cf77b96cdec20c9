// A cursor: how far a lane was taken, that is, handed to the training loop, with a
// running digest of the rows taken. Whoever continues the lane elsewhere compares the
// digest at the cursor: a lane that came out differently is an error, never silent
// loss. Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/base/hash.h"

namespace millrace::lanes {

// Folds row identities, so that another row, another order or another number of rows
// gives another digest. Costs some nanoseconds a row.
class Digest {
 public:
  Digest() = default;

  // Continues from a digest's value.
  explicit Digest(const base::Hash128& value) : value_(value) {}

  void Add(const base::Hash128& row) { value_ = base::Combine(value_, row); }

  const base::Hash128& value() const { return value_; }

  bool operator==(const Digest&) const = default;

 private:
  base::Hash128 value_;
};

struct Cursor {
  int64_t lane = 0;
  int64_t rows = 0;  // Taken: the lane's first so many.
  Digest digest;     // Of these.

  bool operator==(const Cursor&) const = default;
};

// Writes "lane 3 row 128 digest ...".
std::string ToString(const Cursor& cursor);

}  // namespace millrace::lanes
