// The operators that read what Apache Arrow reads. A program that offers them calls
// AddOperators at its start; Arrow itself is opened when one of them first runs.
#pragma once

#include "millrace/ops/define.h"
#include "millrace/ops/library.h"

namespace millrace::arrow {

ops::OperatorDef ReadParquetDef();
ops::OperatorDef ReadArrowDef();

// Adds all of them.
void AddOperators(ops::Library& library);

}  // namespace millrace::arrow
