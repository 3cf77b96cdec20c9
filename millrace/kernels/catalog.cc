#include "millrace/kernels/catalog.h"

#include "millrace/ir/catalog.h"

namespace millrace::kernels {

void AddKernels(ir::Catalog& catalog) {
#define KERNEL(Name) catalog.Add(Name##Kernel());
#include "millrace/kernels/catalog.inc"
#undef KERNEL
}

}  // namespace millrace::kernels
