// How a request becomes a channel: the words of both sides (docs/formats/stream.md).
// Pure.
#pragma once

#include <string_view>
#include <vector>

#include "millrace/adapters/http/exchange.h"
#include "millrace/transport/prefix.h"

namespace millrace::http {

// The version of the stream that both sides here speak.
inline constexpr std::string_view kStreamProtocol = "millrace-stream/1";

// Tells whether a client that offers these versions, separated by commas, knows ours.
bool OffersStream(std::string_view upgrade);

// What both sides tell each other: the codecs that they can unpack, by name, separated
// by commas. A side that does not say is sent nothing compressed.
inline constexpr std::string_view kUnpacksHeader = "Millrace-Unpacks";

Header UnpacksHeader();

// Those of them that are known here.
std::vector<transport::PayloadCodec> UnpackedBy(const std::vector<Header>& headers);

// The answer after which messages follow.
Response UpgradeResponse();

}  // namespace millrace::http
