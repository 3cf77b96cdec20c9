#include "millrace/control/events.h"

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/api/json.h"

namespace millrace::control {

std::string ToLine(const Event& event) { return api::ToJson(event); }

absl::StatusOr<Event> FromLine(std::string_view line) {
  return api::FromJson<Event>(line);
}

}  // namespace millrace::control
