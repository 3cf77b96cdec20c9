// The operator map_python: replaces every row by what a Python function makes of it, in
// processes beside the engine.
#pragma once

#include "millrace/ops/define.h"

namespace millrace::python {

ops::OperatorDef MapPythonDef();

}  // namespace millrace::python
