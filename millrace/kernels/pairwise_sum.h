// Sums numbers in double, in an order that depends on nothing but how many there are:
// the same bits whatever the layout, the block and the machine, and an error that grows
// with the logarithm of the count. The shape is NumPy's: halves down to 128 values or
// fewer, those in eight running sums.
#pragma once

#include <array>
#include <cstdint>

namespace millrace::kernels {

// Up to 128 values; `at(i)` gives the i-th as a double.
template <typename At>
double SumOfFew(int64_t begin, int64_t count, At at) {
  constexpr int64_t kLanes = 8;
  if (count < kLanes) {
    double sum = at(begin);
    for (int64_t i = 1; i < count; ++i) sum += at(begin + i);
    return sum;
  }
  std::array<double, kLanes> lanes;
  for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = at(begin + lane);
  int64_t i = kLanes;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += at(begin + i + lane);
  }
  double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
               ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (; i < count; ++i) sum += at(begin + i);
  return sum;
}

// Sums `count` values from `begin` on. The sum of none is 0.
template <typename At>
double PairwiseSum(int64_t begin, int64_t count, At at) {
  constexpr int64_t kFew = 128;
  if (count == 0) return 0;
  if (count <= kFew) return SumOfFew(begin, count, at);
  const int64_t half = count / 2 - (count / 2) % 8;
  return PairwiseSum(begin, half, at) + PairwiseSum(begin + half, count - half, at);
}

}  // namespace millrace::kernels
