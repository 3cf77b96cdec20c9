// Facts as a table for people.
#pragma once

#include <string>

#include "millrace/profile/facts.h"

namespace millrace::profile {

// One line per operator: time, its share, rows and bytes; then throughput, waiting and
// memory; then the bottleneck and what to do about it.
std::string ToTable(const PassFacts& facts);

// "1,234,567 rows/s".
std::string ShowRate(double rows_per_second);

// "1.5 GB".
std::string ShowBytes(double bytes);

}  // namespace millrace::profile
