// Reads what Spec::ToString prints: "{id: int64, image: uint8[?, ?, 3]}". Names that
// are not plain words stand in single quotes; a quote in one is written twice. Pure.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/core/spec.h"

namespace millrace::core {

// Gives a field's name as it stands in a spec's text: as it is, or quoted.
std::string FieldNameText(std::string_view name);

// Reads a spec; the braces may be left out. The error says what is wrong at which byte.
absl::StatusOr<Spec> ParseSpec(std::string_view text);

}  // namespace millrace::core
