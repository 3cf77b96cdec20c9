#include "millrace/base/shared_library.h"

#include <dlfcn.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::base {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const std::string& path) {
  // Without a slash the linker would look in the system's folders.
  const bool bare = path.find('/') == std::string::npos;
  const std::string file = bare ? "./" + path : path;
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle);
  return absl::FailedPreconditionError(dlerror());  // NOLINT(concurrency-*): ours.
}

void* SharedLibrary::FindAddress(const char* name) const {
  return dlsym(handle_, name);
}

std::string LibraryOf(const void* address) {
  Dl_info found = {};
  return dladdr(address, &found) != 0 ? found.dli_fname : "";
}

}  // namespace millrace::base
