#include "millrace/adapters/http/machine_name.h"

#include <unistd.h>

#include <array>
#include <string>

namespace millrace::http {

const std::string& MachineName() {
  static const std::string& name = *new std::string([] {  // Never destroyed.
    std::array<char, 256> name = {};
    (void)gethostname(name.data(), name.size() - 1);
    return std::string(name.data());
  }());
  return name;
}

}  // namespace millrace::http
