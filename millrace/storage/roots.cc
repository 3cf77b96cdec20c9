#include "millrace/storage/roots.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kReadFlag = "--read-root";
constexpr std::string_view kWriteFlag = "--write-root";
constexpr std::string_view kFileScheme = "file://";

bool IsUrl(std::string_view path) { return path.find("://") != std::string_view::npos; }

std::string WithoutFileScheme(const std::string& path) {
  return path.starts_with(kFileScheme) ? path.substr(kFileScheme.size()) : path;
}

std::string WithSlash(std::string path) {
  if (!path.ends_with('/')) path += '/';
  return path;
}

// Where a path leads to, as far as there is something; of a URL, itself.
absl::StatusOr<std::string> Resolved(const std::string& path) {
  if (IsUrl(path)) return path;
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (error) return absl::InvalidArgumentError(path);
  const std::filesystem::path resolved =
      std::filesystem::weakly_canonical(whole, error);
  if (error) return absl::InvalidArgumentError(path);
  return resolved.string();
}

absl::StatusOr<std::vector<std::string>> ReadRoots(
    const std::vector<std::string>& paths, std::string_view flag) {
  std::vector<std::string> roots;
  for (const std::string& given : paths) {
    const std::string path = WithoutFileScheme(given);
    std::error_code error;
    if (path.empty() || (!IsUrl(path) && !std::filesystem::is_directory(path, error))) {
      return absl::InvalidArgumentError(
          base::StrCat(flag, ": there is no folder ", given));
    }
    roots.push_back(WithSlash(TRY(Resolved(path))));
  }
  return roots;
}

bool IsBeneath(const std::vector<std::string>& roots, const std::string& resolved) {
  return std::ranges::any_of(roots, [&](const std::string& root) {
    return WithSlash(resolved).starts_with(root);
  });
}

absl::Status Refused(std::string_view path, std::string_view why,
                     std::string_view flag) {
  return absl::PermissionDeniedError(base::StrCat(
      path, " ", why, " this process may not ", flag == kReadFlag ? "read" : "write",
      "; if it should, start it with ", flag, " for a folder above it"));
}

absl::Status Check(const std::vector<std::string>& roots, const std::string& given,
                   std::string_view flag) {
  const std::string path = WithoutFileScheme(given);
  const std::vector<std::string> steps = absl::StrSplit(path, '/');
  if (std::ranges::find(steps, "..") != steps.end()) {
    return absl::PermissionDeniedError(
        base::StrCat(given, " has .. in it, which is refused where ", flag,
                     " is set: write the path without it"));
  }
  const absl::StatusOr<std::string> resolved = Resolved(path);
  if (!resolved.ok()) return Refused(given, "leads to where", flag);
  if (IsBeneath(roots, *resolved)) return absl::OkStatus();
  std::error_code ignored;
  const bool is_link = *resolved != std::filesystem::absolute(path, ignored);
  return Refused(given, is_link ? "leads to where" : "is where", flag);
}

Roots& TheProcessRoots() {
  static Roots& roots = *new Roots;  // Never destroyed.
  return roots;
}

}  // namespace

const Roots& ProcessRoots() { return TheProcessRoots(); }

void BoundProcessFiles(const Roots& roots) { TheProcessRoots() = roots; }

absl::StatusOr<Roots> Roots::Make(const std::vector<std::string>& read,
                                  const std::vector<std::string>& write) {
  Roots roots;
  roots.bounded_ = true;
  roots.read_ = TRY(ReadRoots(read, kReadFlag));
  roots.write_ = TRY(ReadRoots(write, kWriteFlag));
  return roots;
}

absl::Status Roots::CheckRead(const std::string& path) const {
  return bounded_ ? Check(read_, path, kReadFlag) : absl::OkStatus();
}

absl::Status Roots::CheckWrite(const std::string& path) const {
  return bounded_ ? Check(write_, path, kWriteFlag) : absl::OkStatus();
}

absl::Status Roots::CheckOpen(int descriptor, const std::string& path) const {
  if (!bounded_) return absl::OkStatus();
  std::error_code error;
  const std::filesystem::path real =
      std::filesystem::read_symlink(base::StrCat("/proc/self/fd/", descriptor), error);
  if (!error && IsBeneath(read_, real.string())) return absl::OkStatus();
  return Refused(path, "leads to where", kReadFlag);
}

}  // namespace millrace::storage
