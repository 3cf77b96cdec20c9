// Which machine this is, as far as sockets without files reach: the kernel's own number
// of this boot, and the network namespace. Two processes that have the same can meet at
// an abstract socket; no two machines or containers have it by accident.
#pragma once

#include <string>

namespace millrace::transport {

// Empty where the system does not tell.
std::string MachineIdentity();

}  // namespace millrace::transport
