// Loads plug-ins (millrace_plugin.h): opens the shared library, checks its version and
// everything it describes, and adds its kernels and operators to a library. The code of
// a plug-in runs in this process and is trusted with it, so only what a user names
// himself is ever loaded. Call it as the program starts, on one thread.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "millrace/ops/library.h"

namespace millrace::plugin {

// Adds all that a plug-in has, or nothing: then the error names the file, what is wrong
// with it, and what to do. The file stays open until the process ends.
absl::Status LoadPlugin(const std::string& path, ops::Library& library);

}  // namespace millrace::plugin
