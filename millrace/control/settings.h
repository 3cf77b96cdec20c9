// Checks what consumers ask of a job: words that do not exist, and combinations that
// have no meaning (protocol.md section 7), are errors that say so. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/service.h"

namespace millrace::control {

absl::Status CheckSettings(const api::JobSettings& settings);

// The same of what only makes sense, or not, once the sources were listed.
absl::Status CheckListed(const api::JobSettings& settings, const api::JobFacts& facts);

// Tells in what a consumer's settings differ from those of the others of its run; OK
// where they do not.
absl::Status SameSettings(const api::JobSettings& one, const api::JobSettings& other);

// How often a pass gives all rows: with sharding off, once for each worker there is
// when a run begins, or as the state says that it goes on from. Fails where that was
// saved with another sharding.
absl::StatusOr<int64_t> CopiesOf(const api::JobSettings& settings,
                                 const std::string& state, int64_t workers);

}  // namespace millrace::control
