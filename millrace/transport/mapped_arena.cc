#include "millrace/transport/mapped_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/descriptor.h"

namespace millrace::transport {

absl::StatusOr<std::shared_ptr<MappedArena>> MappedArena::Map(
    const base::Descriptor& descriptor, int64_t bytes, bool writable) {
  struct stat facts = {};
  const bool known = descriptor.open() && fstat(descriptor.number(), &facts) == 0;
  if (!known || bytes <= 0 || facts.st_size != bytes) {
    return absl::DataLossError("shared memory is not as large as was said");
  }
  // Only files that can be sealed have seals, so it is no file of a disk.
  const int seals = fcntl(descriptor.number(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::DataLossError("shared memory is not sealed against shrinking");
  }
  void* const data = mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                          MAP_SHARED, descriptor.number(), 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, "mapping shared memory");
  return std::shared_ptr<MappedArena>(
      new MappedArena({static_cast<std::byte*>(data), bytes}, writable));
}

MappedArena::~MappedArena() { CHECK_EQ(munmap(region_.data, region_.size), 0); }

}  // namespace millrace::transport
