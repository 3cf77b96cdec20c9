// Memory for an engine whose blocks another process reads: large regions can be mapped
// there, small ones are the heap's, since to copy these is cheaper than to share them.
#pragma once

#include <cstdint>
#include <memory>

#include "millrace/core/allocator.h"

namespace millrace::core {

struct LargeSharedOptions {
  int64_t bytes_least = int64_t{1} << 20;  // Of a region that is shared.
  // A region has a descriptor while it lives: beyond this number the rest is the
  // heap's.
  int descriptors_max = 512;
};

std::unique_ptr<Allocator> MakeLargeSharedAllocator(
    const LargeSharedOptions& options = {});

}  // namespace millrace::core
