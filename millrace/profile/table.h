// Facts as a table for people.
#pragma once

#include <string>

#include "millrace/profile/facts.h"

namespace millrace::profile {

// One line per operator: time, its share, rows and bytes; then throughput, waiting and
// memory; what was left out; then the bottleneck and what to do about it.
std::string ToTable(const PassFacts& facts);

// "left out 3 rows: read_tfrecord 2, map 1; first:", then a line for each of the first;
// nothing where none was left out.
std::string ShowLeftOut(const PassFacts& facts);

// "1,234,567 rows/s".
std::string ShowRate(double rows_per_second);

// "1.5 GB".
std::string ShowBytes(double bytes);

}  // namespace millrace::profile
