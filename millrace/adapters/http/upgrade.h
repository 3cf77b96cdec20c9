// How a request becomes a channel: the words of both sides (docs/formats/stream.md).
// Pure.
#pragma once

#include <string_view>

#include "millrace/adapters/http/exchange.h"

namespace millrace::http {

// The version of the stream that both sides here speak.
inline constexpr std::string_view kStreamProtocol = "millrace-stream/1";

// Tells whether a client that offers these versions, separated by commas, knows ours.
bool OffersStream(std::string_view upgrade);

// The answer after which messages follow.
Response UpgradeResponse();

}  // namespace millrace::http
