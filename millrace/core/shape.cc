#include "millrace/core/shape.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::core {
namespace {

// More values than any memory holds; products stay far from overflow.
constexpr int64_t kCountMax = int64_t{1} << 48;

// One axis of a broadcast; nothing when the sizes cannot meet.
std::optional<int64_t> BroadcastSize(int64_t a, int64_t b) {
  if (a == b) return a;
  if (a == 1) return b;
  if (b == 1) return a;
  if (a == kUnknownSize) return b;
  if (b == kUnknownSize) return a;
  return std::nullopt;
}

}  // namespace

Shape Shape::Unranked() {
  Shape shape;
  shape.ranked_ = false;
  return shape;
}

bool Shape::IsKnown() const {
  return ranked_ && std::ranges::all_of(sizes_, [](int64_t size) { return size >= 0; });
}

absl::StatusOr<int64_t> Shape::CountChecked() const {
  CHECK(IsKnown()) << ToString();
  int64_t count = 1;
  for (const int64_t size : sizes_) {
    if (size != 0 && count > kCountMax / size) {
      return absl::InvalidArgumentError(
          base::StrCat("shape is too large: ", ToString()));
    }
    count *= size;
  }
  return count;
}

int64_t Shape::Count() const {
  const absl::StatusOr<int64_t> count = CountChecked();
  CHECK(count.ok()) << count.status();
  return *count;
}

bool Shape::Admits(const Shape& other) const {
  if (!ranked_) return true;
  if (!other.ranked_ || rank() != other.rank()) return false;
  return std::ranges::equal(sizes_, other.sizes_, [](int64_t mine, int64_t theirs) {
    return mine == kUnknownSize || mine == theirs;
  });
}

Shape Shape::WithLeading(int64_t size) const {
  if (!ranked_) return Unranked();
  Shape longer = *this;
  longer.sizes_.insert(longer.sizes_.begin(), size);
  return longer;
}

Shape Shape::WithoutLeading() const {
  if (!ranked_) return Unranked();
  CHECK(!sizes_.empty());
  return Shape(absl::MakeConstSpan(sizes_).subspan(1));
}

std::string Shape::ToString() const {
  if (!ranked_) return "[...]";
  const auto print = [](std::string* out, int64_t size) {
    *out += size == kUnknownSize ? "?" : base::StrCat(size);
  };
  return base::StrCat("[", absl::StrJoin(sizes_, ", ", print), "]");
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.ToString();
}

std::optional<Shape> Broadcast(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked()) return Shape::Unranked();
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  absl::InlinedVector<int64_t, 4> sizes(longer.sizes().begin(), longer.sizes().end());
  const int shift = longer.rank() - shorter.rank();
  for (int axis = 0; axis < shorter.rank(); ++axis) {
    const auto size = BroadcastSize(longer[axis + shift], shorter[axis]);
    if (!size) return std::nullopt;
    sizes[axis + shift] = *size;
  }
  return Shape(sizes);
}

Shape Join(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return Shape::Unranked();
  absl::InlinedVector<int64_t, 4> sizes;
  for (int axis = 0; axis < a.rank(); ++axis) {
    sizes.push_back(a[axis] == b[axis] ? a[axis] : kUnknownSize);
  }
  return Shape(sizes);
}

}  // namespace millrace::core
