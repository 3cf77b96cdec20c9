// The orders that a service delivers batches in, as jobs name them.
#pragma once

#include <string>
#include <vector>

namespace millrace::bench {

inline std::vector<std::string> Orders() { return {"fixed", "any"}; }

}  // namespace millrace::bench
