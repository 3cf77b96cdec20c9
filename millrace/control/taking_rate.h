// How fast a consumer takes batches, from the counts in its beats: the mean over the
// last few seconds that were heard of. A value; time is an argument.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace millrace::control {

class TakingRate {
 public:
  // Hears that so many batches were taken by now. Fewer than before: it began anew.
  void Hear(int64_t taken, absl::Time now);

  // Batches each second, seen now: falls while nothing is heard.
  double PerSecond(absl::Time now) const;

 private:
  struct Mark {
    absl::Time at = absl::InfinitePast();
    int64_t taken = 0;
  };

  Mark first_;  // Counted from: between one and two windows ago.
  Mark next_;   // Takes its place.
  int64_t taken_ = 0;
};

}  // namespace millrace::control
