// Which files a process may read and which it may write: those beneath its roots, which
// are folders, or the beginnings of URLs. A path is where it leads to: links are
// resolved before it is compared, and ".." is refused. Python functions and plug-ins
// are not held to it: they are code, and do what the process can. Immutable;
// thread-safe.
//
//   const Roots roots = TRY(Roots::Make({"/data"}, {"/data/cache"}));
//   TRY(roots.CheckRead("/data/train.tar"));
//   BoundProcessFiles(roots);  // LocalFiles asks them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::storage {

class Roots {
 public:
  // Everything may be read and written that the process may.
  Roots() = default;

  // Only what is beneath these. InvalidArgument: a folder that is not there.
  static absl::StatusOr<Roots> Make(const std::vector<std::string>& read,
                                    const std::vector<std::string>& write);

  // PermissionDenied, naming the path and the flag that would allow it.
  absl::Status CheckRead(const std::string& path) const;
  absl::Status CheckWrite(const std::string& path) const;

  // The same of an open file, whatever its path led to when it was asked for.
  absl::Status CheckOpen(int descriptor, const std::string& path) const;

 private:
  bool bounded_ = false;
  std::vector<std::string> read_;  // Resolved; each ends in a slash.
  std::vector<std::string> write_;
};

// What this process may; everything, until it is bounded.
const Roots& ProcessRoots();

// Bounds all that LocalFiles reads and writes. Before anybody uses them.
void BoundProcessFiles(const Roots& roots);

}  // namespace millrace::storage
