#include "millrace/adapters/python/shared_region.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::python {
namespace {

absl::Status Failed(const char* what) { return absl::ErrnoToStatus(errno, what); }

}  // namespace

absl::StatusOr<std::shared_ptr<SharedRegion>> SharedRegion::Make(int64_t bytes) {
  const int descriptor = memfd_create("millrace", MFD_CLOEXEC);
  if (descriptor < 0) return Failed("making shared memory");
  if (ftruncate(descriptor, bytes) != 0) {
    absl::Status failed = Failed("sizing shared memory");
    close(descriptor);
    return failed;
  }
  return MapFile(descriptor, bytes);
}

absl::StatusOr<std::shared_ptr<SharedRegion>> SharedRegion::Map(int descriptor,
                                                                int64_t bytes) {
  struct stat facts = {};
  const bool known = fstat(descriptor, &facts) == 0;
  if (!known || bytes <= 0 || facts.st_size < bytes) {
    close(descriptor);
    return absl::InternalError("shared memory is shorter than was said");
  }
  return MapFile(descriptor, bytes);
}

absl::StatusOr<std::shared_ptr<SharedRegion>> SharedRegion::MapFile(int descriptor,
                                                                    int64_t bytes) {
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    absl::Status failed = Failed("mapping shared memory");
    close(descriptor);
    return failed;
  }
  return std::shared_ptr<SharedRegion>(
      new SharedRegion(descriptor, static_cast<std::byte*>(data), bytes));
}

SharedRegion::~SharedRegion() {
  munmap(data_, bytes_);
  close(descriptor_);
}

}  // namespace millrace::python
