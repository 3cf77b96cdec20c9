// Checks what consumers ask of a job: words that do not exist, and combinations that
// have no meaning (protocol.md section 7), are errors that say so. Pure.
#pragma once

#include "absl/status/status.h"

#include "millrace/api/service.h"

namespace millrace::control {

absl::Status CheckSettings(const api::JobSettings& settings);

// The same of what only makes sense, or not, once the sources were listed.
absl::Status CheckListed(const api::JobSettings& settings, const api::JobFacts& facts);

// Tells in what a consumer's settings differ from those of the others of its run; OK
// where they do not.
absl::Status SameSettings(const api::JobSettings& one, const api::JobSettings& other);

}  // namespace millrace::control
