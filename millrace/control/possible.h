// Which requests can be meant. Consumers and workers are not trusted with numbers: what
// no honest one says is refused before anything is done with it, so that sums of what
// is kept cannot overflow and no list grows without end. Pure.
#pragma once

#include "absl/status/status.h"

#include "millrace/api/service.h"

namespace millrace::control {

// InvalidArgument, and what is wrong, where a number is beyond all that can be.
absl::Status CheckPossible(const api::ConsumerBeat& beat);
absl::Status CheckPossible(const api::WorkerBeat& beat);

// The same of what a worker has listed.
absl::Status CheckPossible(const api::JobFacts& facts);

}  // namespace millrace::control
