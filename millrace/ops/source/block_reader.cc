#include "millrace/ops/source/block_reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

constexpr int64_t kSliceRows = 8192;  // A block is a slice, whatever its bytes.

}  // namespace

absl::StatusOr<std::optional<core::Block>> BlockReader::Next(BadRows& /*bad_rows*/) {
  if (rows_.begin >= rows_.end) return std::nullopt;
  const int64_t begin = rows_.begin;
  rows_.begin = std::min(begin + kSliceRows, rows_.end);
  return TRY(WithSourceIds(all_.Slice(begin, rows_.begin - begin), rows_.split, begin,
                           context_));
}

}  // namespace millrace::ops
