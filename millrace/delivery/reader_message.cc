#include "millrace/delivery/reader_message.h"

#include <optional>
#include <variant>

#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {

std::optional<ReaderMessage> MessageOf(const ServerAction& action) {
  ReaderMessage told;
  if (const auto* end = std::get_if<SendEnd>(&action)) {
    told.reader = end->reader;
    told.message.end = end->end;
  } else if (const auto* skip = std::get_if<SendSkip>(&action)) {
    told.reader = skip->reader;
    told.message.skip = skip->skip;
  } else if (const auto* failure = std::get_if<SendFailure>(&action)) {
    told.reader = failure->reader;
    told.message.failure = failure->failure;
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    told.reader = refuse->reader;
    told.message.refused = refuse->reason;
  } else {
    return std::nullopt;
  }
  return told;
}

}  // namespace millrace::delivery
