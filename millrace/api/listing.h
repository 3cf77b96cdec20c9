// What was listed for a job, as bytes: so that a worker that did not list cuts the same
// lanes. Its form is docs/formats/listing.md.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/lanes/listing.h"

namespace millrace::api {

std::string ListingToJson(const lanes::Listing& listing);

// Reads what ListingToJson wrote. What it says is checked: sizes, counts, and that its
// content is what its hash names.
absl::StatusOr<lanes::Listing> ListingFromJson(std::string_view text);

}  // namespace millrace::api
