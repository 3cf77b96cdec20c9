// Libraries that are opened while the program runs, such as plug-ins. An opened library
// stays open until the process ends: whoever has an address from it may keep it. From
// any thread. The only code that knows the dynamic linker.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace millrace::base {

class SharedLibrary {
 public:
  // Opens a file; its symbols are seen by nobody else. The error is FailedPrecondition
  // and says what the linker says.
  static absl::StatusOr<SharedLibrary> Open(const std::string& path);

  // Finds an exported function; null when there is none of that name.
  // Requires: it is of this type.
  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(FindAddress(name));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}

  void* FindAddress(const char* name) const;

  void* handle_;
};

// The path of the library or program that an address is in; empty when unknown.
std::string LibraryOf(const void* address);

}  // namespace millrace::base
