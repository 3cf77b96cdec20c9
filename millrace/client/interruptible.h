// Opening a job for who may be interrupted meanwhile.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"

#include "millrace/client/consumer.h"
#include "millrace/ir/pipeline.h"

namespace millrace::client {

// Does what Consumer::Open does. `interrupt` is asked now and then, from this thread;
// where it says true, this is Cancelled.
absl::StatusOr<std::unique_ptr<Consumer>> OpenInterruptibly(
    const ir::Pipeline& pipeline, ConsumerOptions options,
    const std::function<bool()>& interrupt);

}  // namespace millrace::client
