#include "millrace/transport/machine_identity.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "millrace/base/text.h"

namespace millrace::transport {

std::string MachineIdentity() {
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  if (!std::getline(file, boot) || boot.empty()) return "";
  std::array<char, 256> network = {};
  if (readlink("/proc/self/ns/net", network.data(), network.size() - 1) <= 0) return "";
  return base::StrCat(boot, " ", network.data());
}

}  // namespace millrace::transport
