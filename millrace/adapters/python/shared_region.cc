#include "millrace/adapters/python/shared_region.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"

namespace millrace::python {
namespace {

absl::Status Failed(const char* what) { return absl::ErrnoToStatus(errno, what); }

absl::StatusOr<std::byte*> MapFile(int descriptor, int64_t bytes) {
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return Failed("mapping shared memory");
  return static_cast<std::byte*>(data);
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedRegion>> SharedRegion::Make(int64_t bytes) {
  const int descriptor = memfd_create("millrace", MFD_CLOEXEC);
  if (descriptor < 0) return Failed("making shared memory");
  if (ftruncate(descriptor, bytes) != 0) {
    absl::Status failed = Failed("sizing shared memory");
    close(descriptor);
    return failed;
  }
  const absl::StatusOr<std::byte*> data = MapFile(descriptor, bytes);
  if (!data.ok()) close(descriptor);
  TRY(data.status());
  return std::shared_ptr<SharedRegion>(new SharedRegion(descriptor, *data, bytes));
}

absl::StatusOr<std::shared_ptr<SharedRegion>> SharedRegion::Map(int descriptor,
                                                                int64_t bytes) {
  const absl::Cleanup close_it = [&] { close(descriptor); };  // The mapping stays.
  struct stat facts = {};
  const bool known = fstat(descriptor, &facts) == 0;
  if (!known || bytes <= 0 || facts.st_size < bytes) {
    return absl::InternalError("shared memory is shorter than was said");
  }
  std::byte* const data = TRY(MapFile(descriptor, bytes));
  return std::shared_ptr<SharedRegion>(new SharedRegion(-1, data, bytes));
}

SharedRegion::~SharedRegion() {
  munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace millrace::python
