// What a reader is told by an action of the lane server that sends it no rows. Pure.
#pragma once

#include <optional>

#include "millrace/api/stream.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {

struct ReaderMessage {
  ReaderId reader = {};
  api::WorkerMessage message;
};

// Nothing where the action is another.
std::optional<ReaderMessage> MessageOf(const ServerAction& action);

}  // namespace millrace::delivery
