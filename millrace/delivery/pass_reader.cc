#include "millrace/delivery/pass_reader.h"

#include <cstdint>
#include <iterator>
#include <ranges>
#include <variant>

#include "millrace/api/stream.h"

namespace millrace::delivery {
namespace {

constexpr int64_t kWantsInMessage = 256;

}  // namespace

// Behind the last message for this worker, which may take back other wants.
void PassReader::SendWant(WorkerId worker, const api::Want& want) {
  for (ReaderAction& action : std::views::reverse(actions_)) {
    auto* const send = std::get_if<SendWants>(&action);
    if (send == nullptr || send->worker != worker) continue;
    if (std::ssize(send->message.wants) >= kWantsInMessage) break;
    send->message.wants.push_back(want);
    return;
  }
  Do(SendWants{worker, {{}, {}, {want}}});
}

}  // namespace millrace::delivery
