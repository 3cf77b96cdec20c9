// Kernels that only the workloads of the service have, in a library of their own: rows
// that are ready, so that moving them is all there is to do, and work that takes time
// but no processor, so that many workers can share a small machine.
//
//   %2 = map(%1, function={x: ready(.value, bytes=1048576)})
//   %2 = map(%1, function={x: nap(.value, microseconds=20000)})
#pragma once

#include "millrace/ops/library.h"

namespace millrace::bench {

// All that is built in, and these. Made once.
const ops::Library& ServiceLibrary();

}  // namespace millrace::bench
