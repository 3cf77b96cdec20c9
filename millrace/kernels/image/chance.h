// How likely a random kernel is to change a row: its argument `p`. Pure.
#pragma once

#include "absl/status/status.h"

#include "millrace/ir/argument_schema.h"
#include "millrace/ir/value.h"

namespace millrace::kernels {

ir::ArgumentSchema ChanceArgument(double default_value);

// Checks the argument: from 0 to 1.
absl::Status CheckChance(const ir::Arguments& arguments);

inline double ChanceOf(const ir::Arguments& arguments) {
  return arguments["p"].As<double>();
}

}  // namespace millrace::kernels
