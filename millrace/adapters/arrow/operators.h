// The operators that read what Apache Arrow reads, and the formats that it writes. A
// program that offers them calls AddOperators at its start; Arrow itself is opened when
// one of them first runs.
#pragma once

#include "millrace/ops/define.h"
#include "millrace/ops/library.h"
#include "millrace/ops/save_format.h"

namespace millrace::arrow {

ops::OperatorDef ReadParquetDef();
ops::OperatorDef ReadArrowDef();
ops::SaveFormat ArrowFormat();
ops::SaveFormat ParquetFormat();

// Adds all of them.
void AddOperators(ops::Library& library);

}  // namespace millrace::arrow
