#include "millrace/kernels/copy_values.h"

#include <cstdint>
#include <cstring>

#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

template <typename Bits>
void CopyFixed(const Values& from, int64_t count, ValueWriter& out) {
  const Bits* const source = from.As<Bits>();
  Bits* const target = out.Take<Bits>(count);
  if (count == 0) return;  // There may be no memory at all.
  if (from.step == 1) {
    std::memcpy(target, source, count * sizeof(Bits));
    return;
  }
  for (int64_t i = 0; i < count; ++i) target[i] = source[i * from.step];
}

}  // namespace

int64_t CopyValues(absl::Span<const Values> operands, int64_t count, ValueWriter& out) {
  CHECK(!operands.empty());
  const Values& from = operands[0];
  if (from.offsets != nullptr) {
    for (int64_t i = 0; i < count; ++i) out.AddText(from.TextAt(i));
  } else {
    VisitSize(from.value_bytes,
              [&]<typename Bits>() { CopyFixed<Bits>(from, count, out); });
  }
  return count;
}

}  // namespace millrace::kernels
