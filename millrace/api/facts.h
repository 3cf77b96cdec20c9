// What a pass did, as JSON: for reports, dashboards and the Python package.
#pragma once

#include <string>

#include "millrace/profile/facts.h"

namespace millrace::api {

std::string FactsToJson(const profile::PassFacts& facts);

}  // namespace millrace::api
