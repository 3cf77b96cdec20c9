// Tells by some rows of JSON what fields all rows have. Members come in the order in
// which they are seen first:
//
//   whole numbers, also with others      int64, float64
//   true and false, strings              bool, string
//   arrays of one of these               int64[?], ...
//   objects                              the fields of their members: "a.b"
//   anything else, or now this, now that string: its JSON as it stands
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/core/spec.h"

namespace millrace::ops {

// Rows that are no JSON objects are passed over; an error when no row is one. Members
// whose names no field can have are left out.
absl::StatusOr<core::Spec> TellJsonFields(const std::vector<std::string>& rows);

}  // namespace millrace::ops
