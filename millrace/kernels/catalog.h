// The kernels of this layer: what an expression can call. To add one, write its
// function in its family's file and add its line to catalog.inc.
#pragma once

#include "millrace/ir/catalog.h"
#include "millrace/ir/kernel.h"

namespace millrace::kernels {

// Adds all of them. Requires: none of their names is taken.
void AddKernels(ir::Catalog& catalog);

// The schema of each: AddKernel(), SubtractKernel(), ...
#define KERNEL(Name) ir::KernelSchema Name##Kernel();
#include "millrace/kernels/catalog.inc"
#undef KERNEL

}  // namespace millrace::kernels
