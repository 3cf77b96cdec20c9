#include "millrace/core/spec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec_text.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

constexpr size_t kNameMax = 256;

std::string PrintType(DType dtype, const Shape& shape) {
  return base::StrCat(Name(dtype), shape.is_scalar() ? "" : shape.ToString());
}

absl::Status Mismatch(const FieldSpec& spec, DType dtype, const Shape& shape) {
  return absl::InvalidArgumentError(base::StrCat("field ", spec.name, " should be ",
                                                 PrintType(spec.dtype, spec.shape),
                                                 " but is ", PrintType(dtype, shape)));
}

// The shape of a column's rows as far as its levels tell.
Shape LayoutShape(const Column& column) {
  if (column.HoldsTensors()) return Shape::Unranked();
  absl::InlinedVector<int64_t, 4> sizes;
  for (const Level& level : column.shape_levels()) sizes.push_back(level.size);
  return Shape(sizes);
}

// Finds a size that values [here.begin, here.end) of a level have and should not.
std::optional<int64_t> OtherSize(const Level& level, Extent here, int64_t wanted) {
  if (wanted == kUnknownSize) return std::nullopt;
  if (level.fixed())
    return level.size == wanted ? std::nullopt : std::optional(level.size);
  const absl::Span<const int64_t> offsets = level.offsets.As<int64_t>();
  for (int64_t i = here.begin; i < here.end; ++i) {
    const int64_t size = offsets[i + 1] - offsets[i];
    if (size != wanted) return size;
  }
  return std::nullopt;
}

// Requires: spec.shape has an axis for each level; so too below.
absl::Status CheckLevels(const FieldSpec& spec, const Column& column) {
  Extent here = {0, column.rows()};
  int axis = 0;
  for (const Level& level : column.shape_levels()) {
    if (const auto other = OtherSize(level, here, spec.shape[axis])) {
      absl::InlinedVector<int64_t, 4> sizes(spec.shape.sizes().begin(),
                                            spec.shape.sizes().end());
      sizes[axis] = *other;
      return Mismatch(spec, column.dtype(), Shape(sizes));
    }
    here = level.Below(here);
    ++axis;
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(const FieldSpec& spec, const Column& column) {
  const auto depth = column.levels().size();
  const Shape wanted(spec.shape.sizes().subspan(depth));
  Extent here = {0, column.rows()};
  for (const Level& level : column.levels()) here = level.Below(here);
  for (const Tensor& tensor : column.tensors().subspan(here.begin)) {
    if (wanted.Admits(tensor.shape())) continue;
    Shape shape = tensor.shape();
    for (size_t i = 0; i < depth; ++i) shape = shape.WithLeading(kUnknownSize);
    return Mismatch(spec, column.dtype(), shape);
  }
  return absl::OkStatus();
}

}  // namespace

const FieldSpec* Spec::Find(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &FieldSpec::name);
  return found == fields_.end() ? nullptr : &*found;
}

Spec Spec::Stacked(int64_t size) const {
  std::vector<FieldSpec> fields = fields_;
  for (FieldSpec& field : fields) field.shape = field.shape.WithLeading(size);
  return Spec(std::move(fields));
}

absl::StatusOr<Spec> Spec::Unstacked() const {
  std::vector<FieldSpec> fields = fields_;
  for (FieldSpec& field : fields) {
    if (field.shape.is_scalar()) {
      return absl::InvalidArgumentError(base::StrCat(
          "field ", field.name, " has no leading axis: these rows are no batches"));
    }
    field.shape = field.shape.WithoutLeading();
  }
  return Spec(std::move(fields));
}

std::string Spec::ToString() const {
  const auto print = [](std::string* out, const FieldSpec& field) {
    *out += base::StrCat(FieldNameText(field.name), ": ",
                         PrintType(field.dtype, field.shape));
  };
  return base::StrCat("{", absl::StrJoin(fields_, ", ", print), "}");
}

std::string Spec::Names() const {
  return absl::StrJoin(fields_, ", ", [](std::string* out, const FieldSpec& field) {
    out->append(field.name);
  });
}

std::ostream& operator<<(std::ostream& out, const Spec& spec) {
  return out << spec.ToString();
}

absl::Status CheckFieldName(std::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("a field's name is empty");
  if (name.size() > kNameMax) {
    return absl::InvalidArgumentError(base::StrCat(
        "a field's name is longer than ", kNameMax, " bytes: ", name.substr(0, 32)));
  }
  if (name.front() == '.' || name.back() == '.' ||
      name.find("..") != std::string_view::npos) {
    return absl::InvalidArgumentError(
        base::StrCat("a field's name has an empty step: ", name));
  }
  return absl::OkStatus();
}

absl::Status CheckAdmits(const FieldSpec& spec, const Column& column) {
  const auto depth = static_cast<int>(column.shape_levels().size());
  const bool rank_fits = !spec.shape.ranked() || depth == spec.shape.rank() ||
                         (column.HoldsTensors() && depth < spec.shape.rank());
  if (column.dtype() != spec.dtype || !rank_fits) {
    return Mismatch(spec, column.dtype(), LayoutShape(column));
  }
  if (!spec.shape.ranked()) return absl::OkStatus();
  TRY(CheckLevels(spec, column));
  return column.HoldsTensors() ? CheckTensors(spec, column) : absl::OkStatus();
}

}  // namespace millrace::core
