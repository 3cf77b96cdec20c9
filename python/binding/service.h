// Jobs on a service, as millrace._core has them.
#pragma once

#include <nanobind/nanobind.h>

namespace millrace::binding {

void AddService(nanobind::module_& module);

}  // namespace millrace::binding
