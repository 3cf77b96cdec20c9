#include "millrace/kernels/image/resize_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/base/check.h"

namespace millrace::kernels {
namespace {

constexpr int64_t kTapsInGroup = 4;

// Sums of weights times 255 must fit 32 bits, and weights 16.
constexpr int kBitsMax = 22;
constexpr double kWeightMax = 32'767;

double Triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys' cubic with a = -1/2, as Pillow and TensorFlow have it.
double Cubic(double x) {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

struct Filter {
  double (*at)(double) = nullptr;
  double reach = 1;  // It is 0 from here on.
};

Filter FilterOf(ResizeMethod method) {
  CHECK(method != ResizeMethod::kNearest);
  return method == ResizeMethod::kBilinear ? Filter{Triangle, 1} : Filter{Cubic, 2};
}

// The weights of one pixel, before they are rounded.
struct Tapered {
  int64_t first = 0;
  absl::InlinedVector<double, 16> weights = {};
};

class FilterAxis {
 public:
  FilterAxis(int64_t from, int64_t to, ResizeMethod method, bool antialias)
      : from_(from),
        ratio_(static_cast<double>(from) / static_cast<double>(to)),
        widening_(antialias ? std::max(ratio_, 1.0) : 1.0),
        filter_(FilterOf(method)) {}

  Tapered At(int64_t pixel) const {
    const double centre = (static_cast<double>(pixel) + 0.5) * ratio_;
    const double reach = filter_.reach * widening_;
    const auto begin = static_cast<int64_t>(std::floor(centre - reach + 0.5));
    const auto end = static_cast<int64_t>(std::floor(centre + reach + 0.5));
    Tapered tapered = {.first = std::max<int64_t>(begin, 0)};
    double sum = 0;
    for (int64_t i = tapered.first; i < std::min(end, from_); ++i) {
      const double away = static_cast<double>(i) + 0.5 - centre;
      tapered.weights.push_back(filter_.at(away / widening_));
      sum += tapered.weights.back();
    }
    for (double& weight : tapered.weights) weight /= sum;
    return tapered;
  }

 private:
  const int64_t from_;
  const double ratio_;
  const double widening_;
  const Filter filter_;
};

// As many bits as the largest weight leaves.
int BitsFor(const std::vector<Tapered>& pixels) {
  double largest = 0;
  for (const Tapered& pixel : pixels) {
    for (const double weight : pixel.weights) {
      largest = std::max(largest, std::abs(weight));
    }
  }
  int bits = kBitsMax;
  while (largest * static_cast<double>(1 << bits) > kWeightMax) --bits;
  return bits;
}

// Rounds so that what one weight loses the next one gets: the sum is kept, so that a
// flat area stays as bright as it was.
void RoundWeights(const Tapered& pixel, int bits, int16_t* out) {
  const auto one = static_cast<double>(1 << bits);
  double sum = 0;
  int64_t given = 0;
  for (size_t i = 0; i < pixel.weights.size(); ++i) {
    sum += pixel.weights[i];
    const bool last = i + 1 == pixel.weights.size();
    const auto due =
        last ? int64_t{1} << bits : static_cast<int64_t>(std::floor(sum * one + 0.5));
    out[i] = static_cast<int16_t>(std::min<int64_t>(due - given, 32'767));
    given = due;
  }
}

}  // namespace

ResizeMethod ResizeMethodOf(std::string_view name) {
  if (name == "nearest") return ResizeMethod::kNearest;
  if (name == "bilinear") return ResizeMethod::kBilinear;
  CHECK_EQ(name, "bicubic");
  return ResizeMethod::kBicubic;
}

// The centre of pixel i is at (i + 1/2) from / to.
std::vector<int64_t> NearestPlaces(int64_t from, int64_t to) {
  std::vector<int64_t> places;
  places.reserve(to);
  for (int64_t i = 0; i < to; ++i) places.push_back((2 * i + 1) * from / (2 * to));
  return places;
}

std::vector<Between> BilinearPlaces(int64_t from, int64_t to) {
  constexpr int64_t kOne = int64_t{1} << Between::kBits;
  std::vector<Between> places(to);
  for (int64_t i = 0; i < to; ++i) {
    // The distance from the first source centre, as a fraction of 2 to.
    const int64_t distance = std::max<int64_t>((2 * i + 1) * from - to, 0);
    const int64_t first = distance / (2 * to);
    if (first >= from - 1) {
      places[i].first = from - 1;
      continue;
    }
    const int64_t rest = distance % (2 * to);
    const int64_t weight = (rest * kOne + to) / (2 * to);
    places[i] = {.first = first,
                 .weight = static_cast<int16_t>(std::min(weight, kOne - 1))};
  }
  return places;
}

AxisWeights FilterWeights(int64_t from, int64_t to, ResizeMethod method,
                          bool antialias) {
  const FilterAxis axis(from, to, method, antialias);
  std::vector<Tapered> pixels;
  pixels.reserve(to);
  size_t most = 0;
  for (int64_t i = 0; i < to; ++i) {
    pixels.push_back(axis.At(i));
    most = std::max(most, pixels.back().weights.size());
  }
  AxisWeights result = {.bits = BitsFor(pixels), .size = to};
  result.taps =
      (static_cast<int64_t>(most) + kTapsInGroup - 1) / kTapsInGroup * kTapsInGroup;
  result.weights.resize(to * result.taps);
  for (int64_t i = 0; i < to; ++i) {
    // At the end of the axis weights of 0 come first, so that none lies beyond it.
    const int64_t beyond = pixels[i].first + result.taps - from;
    const int64_t zeros = std::clamp<int64_t>(beyond, 0, pixels[i].first);
    result.first.push_back(pixels[i].first - zeros);
    result.count.push_back(static_cast<int64_t>(pixels[i].weights.size()) + zeros);
    RoundWeights(pixels[i], result.bits,
                 result.weights.data() + i * result.taps + zeros);
  }
  return result;
}

}  // namespace millrace::kernels
