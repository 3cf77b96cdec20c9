// Memory that processes share: an anonymous file, mapped. It has no name, so nothing is
// left behind however a process ends. A handle; the mapping lives as long as its last
// holder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace millrace::python {

class SharedRegion {
 public:
  // Makes a new one, of zeros; its file grows with it.
  static absl::StatusOr<std::shared_ptr<SharedRegion>> Make(int64_t bytes);

  // Maps the file of another process, and closes the descriptor. An error when it is
  // shorter than that.
  static absl::StatusOr<std::shared_ptr<SharedRegion>> Map(int descriptor,
                                                           int64_t bytes);

  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  std::byte* data() const { return data_; }

  int64_t bytes() const { return bytes_; }

  // Of one that was made here, for another process; -1 of one that was mapped.
  int descriptor() const { return descriptor_; }

 private:
  SharedRegion(int descriptor, std::byte* data, int64_t bytes)
      : descriptor_(descriptor), data_(data), bytes_(bytes) {}

  const int descriptor_;
  std::byte* const data_;
  const int64_t bytes_;
};

}  // namespace millrace::python
