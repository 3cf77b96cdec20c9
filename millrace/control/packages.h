// Which workers may run the Python functions of a job, and in which packages they
// differ from the process that the functions come from. Differences of versions are
// told before the run; a package that is missing, or another Python, rules a worker
// out. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/service.h"
#include "millrace/control/placing.h"

namespace millrace::control {

// Gives packages by name, as those of a candidate must be.
std::vector<api::Package> Sorted(std::vector<api::Package> packages);

// Tells whether a worker may run the functions of a job at all; true without such.
bool MayRunFunctions(const Candidate& worker, const api::JobSettings& settings);

// Says in which packages a worker differs; nothing where it does not.
std::vector<std::string> Differences(const Candidate& worker,
                                     const api::JobSettings& settings);

// The same of all workers that may run them, up to a few.
std::vector<std::string> DifferencesOfAll(const std::vector<Candidate>& workers,
                                          const api::JobSettings& settings);

// Says why no worker would ever run the functions of a job. `has_token`: whether the
// dispatcher asks for one; code is not taken from just anybody.
absl::Status CheckFunctions(const std::vector<Candidate>& workers,
                            const api::JobSettings& settings, bool has_token);

}  // namespace millrace::control
