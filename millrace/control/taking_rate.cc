#include "millrace/control/taking_rate.h"

#include <cstdint>

#include "absl/time/time.h"

namespace millrace::control {
namespace {

constexpr absl::Duration kWindow = absl::Seconds(5);

}  // namespace

void TakingRate::Hear(int64_t taken, absl::Time now) {
  const bool is_new = first_.at == absl::InfinitePast() || taken < taken_;
  taken_ = taken;
  if (is_new) {
    first_ = next_ = {now, taken};
  } else if (now - next_.at >= kWindow) {
    first_ = next_;
    next_ = {now, taken};
  }
}

double TakingRate::PerSecond(absl::Time now) const {
  if (first_.at == absl::InfinitePast() || now <= first_.at) return 0;
  return static_cast<double>(taken_ - first_.taken) /
         absl::ToDoubleSeconds(now - first_.at);
}

}  // namespace millrace::control
