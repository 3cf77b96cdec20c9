#include "millrace/metadata/whole_file.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::metadata {
namespace {

absl::Status Failed(std::string_view path, int error) {
  const std::string message = base::StrCat("cannot make file: ", path, ": ",
                                           std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(
          base::StrCat(message, "; make its folder first, with mkdir -p"));
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(base::StrCat(
          message, "; run as a user who may write there, or change its mode"));
    case ENOSPC:
    case EDQUOT:  // NOLINT(misc-include-cleaner): of <cerrno>.
    case EFBIG:
      return absl::ResourceExhaustedError(
          base::StrCat(message, "; make space on its disk"));
    default:
      return absl::UnavailableError(message);
  }
}

absl::Status WriteAll(int descriptor, std::string_view content, std::string_view path) {
  while (!content.empty()) {
    const ssize_t done = write(descriptor, content.data(), content.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Failed(path, errno);
    content.remove_prefix(static_cast<size_t>(done));
  }
  return fsync(descriptor) == 0 ? absl::OkStatus() : Failed(path, errno);
}

// Makes the names in a folder durable.
absl::Status SyncFolder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Failed(folder, errno);
  const absl::Cleanup close_it = [&] { close(descriptor); };
  return fsync(descriptor) == 0 ? absl::OkStatus() : Failed(folder, errno);
}

}  // namespace

absl::Status MakeWholeFile(const std::string& path, std::string_view content) {
  constexpr mode_t kMode = 0600;  // What jobs are run is its user's business.
  const std::string part = base::StrCat(path, ".part-", int64_t{getpid()});
  const int descriptor =
      open(part.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, kMode);
  if (descriptor < 0) return Failed(path, errno);
  const absl::Cleanup close_it = [&] { close(descriptor); };
  const absl::Cleanup remove_it = [&] { unlink(part.c_str()); };
  TRY(WriteAll(descriptor, content, path));
  // A rename would replace what another has made meanwhile; a link does not.
  if (link(part.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    return Failed(path, errno);
  }
  return SyncFolder(std::filesystem::path(path).parent_path().string());
}

}  // namespace millrace::metadata
