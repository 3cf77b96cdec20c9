// The name of this machine: what servers on it are called, and by which workers and
// consumers tell whether they are on one host.
#pragma once

#include <string>

namespace millrace::http {

const std::string& MachineName();

}  // namespace millrace::http
