#include "millrace/client/interruptible.h"

#include <functional>
#include <future>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/client/consumer.h"
#include "millrace/ir/pipeline.h"

namespace millrace::client {
namespace {

// So often it looks whether it is to end.
constexpr absl::Duration kLook = absl::Milliseconds(50);

}  // namespace

absl::StatusOr<std::unique_ptr<Consumer>> OpenInterruptibly(
    const ir::Pipeline& pipeline, ConsumerOptions options,
    const std::function<bool()>& interrupt) {
  std::stop_source stop;
  options.stop = stop.get_token();
  auto opening =
      std::async(std::launch::async, [&] { return Consumer::Open(pipeline, options); });
  while (opening.wait_for(absl::ToChronoMilliseconds(kLook)) !=
         std::future_status::ready) {
    if (!interrupt()) continue;
    stop.request_stop();
    opening.wait();
    return absl::CancelledError("interrupted");
  }
  return opening.get();
}

}  // namespace millrace::client
