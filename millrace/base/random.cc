#include "millrace/base/random.h"

#include <array>
#include <cmath>

#include "millrace/base/check.h"
#include "millrace/base/portable_log.h"

namespace millrace::base {

double Generator::Uniform(double low, double high) {
  CHECK_LE(low, high);
  CHECK(std::isfinite(high - low)) << "from " << low << " to " << high;
  const double value = low + (high - low) * Uniform();
  if (value < high || low == high) return value;
  return std::nextafter(high, low);  // Rounding had reached the end.
}

// Marsaglia's polar method: a point drawn from the unit disc gives two normals. sqrt is
// exact by IEEE 754, and the logarithm is our own.
std::array<double, 2> Generator::NormalPair() {
  double x = 0;
  double y = 0;
  double square = 0;
  do {
    x = 2 * Uniform() - 1;
    y = 2 * Uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double scale = std::sqrt(-2 * PortableLog(square) / square);
  return {x * scale, y * scale};
}

}  // namespace millrace::base
