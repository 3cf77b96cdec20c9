// The rows that a plug-in's operator may give rows from: those of the call that is
// running, and a fixed number before them. They are known by number, counted from the
// first that was ever pushed. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"

namespace millrace::plugin {

class RowsInReach {
 public:
  // Requires: held >= 0; the pool outlives it.
  RowsInReach(int64_t held, core::Pool& pool) : held_(held), pool_(pool) {}

  // Takes the rows of the next call.
  void Push(core::Block block);

  // The call is over: the last `held` rows stay in reach.
  void EndCall();

  // The numbers in reach are from begin up to, not including, end.
  int64_t begin() const { return begin_; }

  int64_t end() const { return end_; }

  // How many rows were given from one. Requires: in reach, here and below.
  int64_t& uses(int64_t number) { return uses_[number - begin_]; }

  core::RowId IdAt(int64_t number) const;

  // Of a batch, those of its rows.
  std::vector<core::RowId> IdsIn(int64_t number) const;

  bool has_ids() const { return !blocks_.empty() && blocks_.back().block.has_ids(); }

  // Gives rows of a field, or of the identities where none is named.
  absl::StatusOr<core::Column> Gather(std::optional<std::string_view> field,
                                      absl::Span<const int64_t> numbers) const;

 private:
  struct Kept {
    core::Block block;
    int64_t first;  // The number of its first row.
  };

  const Kept& BlockOf(int64_t number) const;

  const int64_t held_;
  core::Pool& pool_;
  std::deque<Kept> blocks_;
  std::deque<int64_t> uses_;  // Of the rows in reach.
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

}  // namespace millrace::plugin
