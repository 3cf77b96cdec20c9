// The source from_generator: the rows of a Python generator, in a process beside the
// engine.
#pragma once

#include "millrace/ops/define.h"

namespace millrace::python {

ops::OperatorDef FromGeneratorDef();

}  // namespace millrace::python
