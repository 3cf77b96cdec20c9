// The exponential function with the same bits on every machine, beside PortableLog and
// for the same reason: only operations that IEEE 754 defines to the last bit. Within
// two units in the last place of the true value; some ten nanoseconds.
#pragma once

namespace millrace::base {

// Requires: -700 <= x <= 700, so that the result is finite and normal.
double PortableExp(double x);

}  // namespace millrace::base
