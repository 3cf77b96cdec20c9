// What the machine gives: messages of one size through a TCP connection on loopback,
// written and read by the plainest loops there are.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace millrace::bench {

// What moving bytes took.
struct Moved {
  double bytes_per_second = 0;
  double cpu_seconds_per_gigabyte = 0;  // Of both ends.
};

// How much, in messages of which size.
struct Amount {
  int64_t message_bytes = 1 << 20;
  int64_t messages = 1000;
  int64_t first = 64;  // Not measured: connections begin slowly.
};

// Sends them from one thread to another, which reads into two places in turn.
absl::StatusOr<Moved> MoveRaw(const Amount& amount);

}  // namespace millrace::bench
