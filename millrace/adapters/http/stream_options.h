// How channels over sockets behave.
#pragma once

#include "absl/time/time.h"

#include "millrace/base/bytes.h"

namespace millrace::http {

using base::literals::operator""_GiB;

// Which payloads get a checksum. It costs a fifth to a half more processor time.
enum class PayloadSums { kNever, kBetweenHosts, kAlways };

// Which payloads are compressed: by what is measured (transport/packing_choice.h),
// never between processes of one host; the others are for tests and measurements.
enum class PayloadPacking { kNever, kMeasured, kLz4, kZstd };

struct StreamOptions {
  PayloadSums sums = PayloadSums::kBetweenHosts;
  PayloadPacking packing = PayloadPacking::kMeasured;
  base::Bytes payload_max = 4_GiB;  // Of one message that is received.
  base::Bytes queued_max = 8_GiB;  // Beyond this the sender keeps no credits: an error.
  absl::Duration ping_after = absl::Seconds(5);    // Without anything to send.
  absl::Duration lost_after = absl::Seconds(20);   // Without a sign of the other side.
  absl::Duration close_within = absl::Seconds(2);  // To send what is queued.
};

}  // namespace millrace::http
