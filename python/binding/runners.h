// Processes for Python functions, as millrace._core has them: both their ends.
#pragma once

#include <nanobind/nanobind.h>

namespace millrace::binding {

void AddRunners(nanobind::module_& module);

}  // namespace millrace::binding
