// Memory of another process, mapped here: an anonymous file whose descriptor came
// through a socket. What that process may say and do is not believed: the file must be
// as large as was said, and sealed so that nobody can shrink it, or else who reads the
// memory could be killed by its own access. Shared, never private: a private mapping
// keeps pages that it has written, and shows them when the memory is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "millrace/base/descriptor.h"
#include "millrace/core/allocator.h"

namespace millrace::transport {

class MappedArena {
 public:
  // Maps all of it. The descriptor is not needed afterwards.
  static absl::StatusOr<std::shared_ptr<MappedArena>> Map(
      const base::Descriptor& descriptor, int64_t bytes, bool writable);

  ~MappedArena();
  MappedArena(const MappedArena&) = delete;
  MappedArena& operator=(const MappedArena&) = delete;

  std::byte* data() const { return region_.data; }

  int64_t bytes() const { return region_.size; }

  const core::Region& region() const { return region_; }

  bool writable() const { return writable_; }

 private:
  MappedArena(core::Region region, bool writable)
      : region_(region), writable_(writable) {}

  const core::Region region_;
  const bool writable_;
};

}  // namespace millrace::transport
