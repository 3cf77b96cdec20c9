// One kernel called on plain values, to try things out; and the random numbers of one
// row. What is wrong is thrown as Error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/adapters/python/plain.h"

namespace millrace::python {

// What a random kernel draws for: seed and epoch, and the row by its number.
struct Draw {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  int64_t call_number = 0;
  uint64_t row_high = 0;
  uint64_t row_low = 0;
};

// Computes what the kernel gives for one row whose values these are; plain numbers are
// weak.
FieldValue Evaluate(const std::string& kernel, const std::vector<Plain>& operands,
                    const NamedArguments& arguments, const std::optional<Draw>& draw);

}  // namespace millrace::python
