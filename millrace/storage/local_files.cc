#include "millrace/storage/local_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/glob.h"
#include "millrace/storage/roots.h"

namespace millrace::storage {
namespace {

// The disk is told to write whenever there is so much.
constexpr int64_t kWriteBackBytes = int64_t{8} << 20;

// What the system said, with the code that tells the caller what to do.
absl::Status Failed(std::string_view what, std::string_view path, int error) {
  const std::string message =
      base::StrCat(what, ": ", path, ": ", std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(
          base::StrCat(message, "; run as a user who may, or change its mode"));
    case ENOSPC:
    case EDQUOT:  // NOLINT(misc-include-cleaner): of <cerrno>.
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() { close(number_); }

  int operator*() const { return number_; }

 private:
  const int number_;
};

int OpenAgainWhenInterrupted(const std::string& path, int flags) {
  constexpr mode_t kMode = 0666;  // Less what the user's mask takes away.
  int descriptor = -1;
  do {
    descriptor = open(path.c_str(), flags | O_CLOEXEC, kMode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

BlobInfo InfoOf(const std::string& path, const struct stat& facts) {
  const int64_t nanoseconds =
      int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  return {.path = path,
          .bytes = facts.st_size,
          .version = base::StrCat(nanoseconds, "-", facts.st_size)};
}

absl::Status NotAFile(std::string_view path) {
  return absl::InvalidArgumentError(base::StrCat(
      "not a file: ", path, " is a folder or a device; to read what is in a folder, ",
      "give a pattern such as ", path, "/*"));
}

class LocalBlob final : public Blob {
 public:
  LocalBlob(int descriptor, BlobInfo info)
      : descriptor_(descriptor), info_(std::move(info)) {}

  const BlobInfo& info() const override { return info_; }

  absl::StatusOr<int64_t> Read(int64_t offset,
                               absl::Span<std::byte> room) const override {
    CHECK_GE(offset, 0);
    size_t done = 0;
    while (done < room.size()) {
      const ssize_t got = pread(*descriptor_, room.data() + done, room.size() - done,
                                offset + static_cast<int64_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed("cannot read file", info_.path, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    const auto end = offset + static_cast<int64_t>(done);
    if (done < room.size() && end < info_.bytes) return Shorter(end);
    return static_cast<int64_t>(done);
  }

  // What is wrong with the file, or that its system cannot tell whether it would wait,
  // is found out by Read.
  absl::StatusOr<int64_t> ReadNow(int64_t offset,
                                  absl::Span<std::byte> room) const override {
    CHECK_GE(offset, 0);
    // NOLINTNEXTLINE(misc-include-cleaner): of <sys/uio.h>.
    const iovec place = {room.data(), room.size()};
    const ssize_t got = preadv2(*descriptor_, &place, 1, offset, RWF_NOWAIT);
    return std::max<int64_t>(got, 0);
  }

 private:
  absl::Status Shorter(int64_t end) const {
    return absl::FailedPreconditionError(base::StrCat(
        "file became shorter while it was read: ", info_.path, " ends at byte ", end,
        ", was listed with ", info_.bytes, "; start anew when nobody writes to it"));
  }

  const Descriptor descriptor_;
  const BlobInfo info_;
};

// Writes to a file without a name where the system has such, so that nothing is left
// behind when the process is killed; else to a hidden one beside the place.
class LocalWriter final : public BlobWriter {
 public:
  LocalWriter(int descriptor, std::string path, std::string hidden, Existing existing)
      : descriptor_(descriptor),
        path_(std::move(path)),
        hidden_(std::move(hidden)),
        existing_(existing) {}

  LocalWriter(const LocalWriter&) = delete;
  LocalWriter& operator=(const LocalWriter&) = delete;

  ~LocalWriter() override {
    if (!hidden_.empty()) unlink(hidden_.c_str());
  }

  absl::Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kWriteBackBytes);
      const ssize_t done = write(*descriptor_, piece.data(), piece.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return Failed("cannot write file", path_, errno);
      bytes.remove_prefix(static_cast<size_t>(done));
      written_ += done;
      BeginWriteBack();
    }
    return absl::OkStatus();
  }

  absl::Status Publish(Sync sync) override {
    if (sync == Sync::kNow && fsync(*descriptor_) != 0) {
      return Failed("cannot write file", path_, errno);
    }
    if (existing_ == Existing::kKeep) return PublishIfNew();
    if (hidden_.empty()) TRY(GiveName());
    if (std::rename(hidden_.c_str(), path_.c_str()) != 0) {
      return Failed("cannot publish file", path_, errno);
    }
    hidden_.clear();
    return absl::OkStatus();
  }

  static std::string HiddenName(const std::string& path) {
    static std::atomic<int64_t> number = 0;
    const std::filesystem::path place(path);
    const std::string name = base::StrCat(".", place.filename().string(), ".part-",
                                          int64_t{getpid()}, "-", number++);
    return (place.parent_path() / name).string();
  }

 private:
  // The disk has something to do meanwhile: else all of it waits for the sync at the
  // end. That it could not begin, the sync will tell.
  void BeginWriteBack() {
    if (written_ - begun_ < kWriteBackBytes) return;
    sync_file_range(*descriptor_, begun_, written_ - begun_, SYNC_FILE_RANGE_WRITE);
    begun_ = written_;
  }

  // A link cannot replace a file, a rename can: so both, one after the other.
  absl::Status GiveName() {
    const std::string unnamed = base::StrCat("/proc/self/fd/", *descriptor_);
    const std::string hidden = HiddenName(path_);
    if (linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, hidden.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
      return Failed("cannot publish file", path_, errno);
    }
    hidden_ = hidden;
    return absl::OkStatus();
  }

  // A link replaces nothing. Not every file system has links.
  absl::Status PublishIfNew() {
    const std::string unnamed = base::StrCat("/proc/self/fd/", *descriptor_);
    const std::string& from = hidden_.empty() ? unnamed : hidden_;
    const bool linked =
        linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
    if (linked || errno == EEXIST) return absl::OkStatus();
    const bool no_links = errno == EPERM || errno == EOPNOTSUPP;
    if (hidden_.empty() || !no_links) {
      return Failed("cannot publish file", path_, errno);
    }
    if (access(path_.c_str(), F_OK) == 0) return absl::OkStatus();
    if (std::rename(hidden_.c_str(), path_.c_str()) == 0) return absl::OkStatus();
    return Failed("cannot publish file", path_, errno);
  }

  const Descriptor descriptor_;
  const std::string path_;
  std::string hidden_;  // Its name until it is published, if it has one.
  const Existing existing_;
  int64_t written_ = 0;
  int64_t begun_ = 0;  // Bytes of it that the disk has been told to write.
};

// Lists a folder of the machine. One that is not there, or is not a folder, is empty.
absl::StatusOr<std::vector<FolderEntry>> ListLocalFolder(const std::string& folder) {
  std::error_code error;
  const std::string path = folder.empty() ? "." : folder;
  std::vector<FolderEntry> entries;
  for (std::filesystem::directory_iterator entry(path, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code unknown;  // A dangling link is no folder.
    entries.push_back({.name = entry->path().filename().string(),
                       .is_folder = entry->is_directory(unknown),
                       .is_link = entry->is_symlink(unknown)});
  }
  if (error && error.value() != ENOENT && error.value() != ENOTDIR) {
    return Failed("cannot list folder", path, error.value());
  }
  return entries;
}

absl::Status NothingMatches(std::string_view pattern) {
  return absl::NotFoundError(base::StrCat(
      "no file matches: ", pattern,
      "; check the spelling, and that the path is seen from this machine (relative "
      "paths begin in the folder the process was started in)"));
}

absl::StatusOr<std::vector<FolderEntry>> ListAllowedFolder(const std::string& folder) {
  TRY(ProcessRoots().CheckRead(folder.empty() ? "." : folder));
  return ListLocalFolder(folder);
}

// The paths of one pattern of the user, which match something.
absl::StatusOr<std::vector<std::string>> PathsOf(const std::string& pattern) {
  std::vector<std::string> paths;
  for (const std::string& expanded : TRY(ExpandBraces(pattern))) {
    if (IsPlainPath(expanded)) {
      paths.push_back(Unescape(expanded));
      continue;
    }
    for (std::string& path : TRY(MatchPattern(expanded, ListAllowedFolder))) {
      paths.push_back(std::move(path));
    }
  }
  if (paths.empty()) return NothingMatches(pattern);
  return paths;
}

}  // namespace

absl::StatusOr<std::vector<BlobInfo>> LocalFiles::List(
    absl::Span<const std::string> patterns) const {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    for (std::string& path : TRY(PathsOf(pattern))) paths.push_back(std::move(path));
  }
  std::ranges::sort(paths);
  paths.erase(std::ranges::unique(paths).begin(), paths.end());
  std::vector<BlobInfo> blobs;
  blobs.reserve(paths.size());
  for (const std::string& path : paths) blobs.push_back(TRY(Find(path)));
  return blobs;
}

absl::StatusOr<BlobInfo> LocalFiles::Find(const std::string& path) const {
  TRY(ProcessRoots().CheckRead(path));
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NothingMatches(path);
    return Failed("cannot look at file", path, errno);
  }
  if (!S_ISREG(facts.st_mode)) return NotAFile(path);
  return InfoOf(path, facts);
}

absl::StatusOr<std::unique_ptr<Blob>> LocalFiles::Open(const BlobInfo& listed) const {
  TRY(ProcessRoots().CheckRead(listed.path));
  const int descriptor = OpenAgainWhenInterrupted(listed.path, O_RDONLY);
  if (descriptor < 0 && errno == ENOENT) {
    return absl::NotFoundError(base::StrCat("file has vanished since it was listed: ",
                                            listed.path, "; start anew to list again"));
  }
  if (descriptor < 0) return Failed("cannot open file", listed.path, errno);
  auto blob = std::make_unique<LocalBlob>(descriptor, listed);
  TRY(ProcessRoots().CheckOpen(descriptor, listed.path));
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0) {
    return Failed("cannot look at file", listed.path, errno);
  }
  if (InfoOf(listed.path, facts) != listed) {
    return absl::FailedPreconditionError(
        base::StrCat("file has changed since it was listed: ", listed.path, " had ",
                     listed.bytes, " bytes, now has ", int64_t{facts.st_size},
                     " or another time of change; start anew to list again"));
  }
  return blob;
}

absl::StatusOr<std::unique_ptr<BlobWriter>> LocalFiles::Create(
    const std::string& path, Existing existing) const {
  TRY(ProcessRoots().CheckWrite(path));
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Failed("cannot make folder", folder, error.value());
  int descriptor = OpenAgainWhenInterrupted(folder, O_TMPFILE | O_WRONLY);
  if (descriptor >= 0) {
    return std::make_unique<LocalWriter>(descriptor, path, "", existing);
  }
  // Not every file system has files without a name.
  std::string hidden = LocalWriter::HiddenName(path);
  descriptor = OpenAgainWhenInterrupted(hidden, O_CREAT | O_EXCL | O_WRONLY);
  if (descriptor < 0) return Failed("cannot create file", path, errno);
  return std::make_unique<LocalWriter>(descriptor, path, std::move(hidden), existing);
}

absl::Status LocalFiles::Remove(const std::string& path) const {
  TRY(ProcessRoots().CheckWrite(path));
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return Failed("cannot remove file", path, errno);
}

BlobStore& ProcessFiles() {
  static BlobStore& files = *new LocalFiles;  // Never destroyed.
  return files;
}

}  // namespace millrace::storage
