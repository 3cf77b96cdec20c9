// Functions of real numbers with the same bits on every machine: only operations that
// IEEE 754 defines to the last bit, never the C library's, which differ between
// versions and processors. Over all doubles, infinities and NaN included; errors are in
// units in the last place of the true value. Some ten to thirty nanoseconds; the power
// some two hundred.
#pragma once

namespace millrace::kernels {

// Within 2 units; of results below 2^-1022, within 2 of their units.
double Exp(double x);

// Within 3 units. Of 0 minus infinity, of less NaN.
double Log(double x);

// The logarithm of 1 + x, within 4 units also where x is small.
double LogOfOnePlus(double x);

// 1 / (1 + e^-x), within 5 units.
double Sigmoid(double x);

// Within 5 units.
double Tanh(double x);

// a to the power b, within 3 units, with the special cases of C's pow.
double Power(double a, double b);

}  // namespace millrace::kernels
