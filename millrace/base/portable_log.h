// The natural logarithm with the same bits on every machine. The C library's differs
// between processors with and without fused multiply-add; this one uses only operations
// that IEEE 754 defines to the last bit. Within two units in the last place of the true
// value; some ten nanoseconds.
#pragma once

namespace millrace::base {

// Requires: `x` is finite, positive and normal (at least 2^-1022).
double PortableLog(double x);

}  // namespace millrace::base
