#include "millrace/adapters/python/hand_over.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/base/status.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/transport/shared_reader.h"

namespace millrace::python {
namespace {

std::vector<int64_t> SizesOf(const core::Shape& shape) {
  return {shape.sizes().begin(), shape.sizes().end()};
}

enum class Use : uint8_t { kOwn, kPrivate, kView };

class HandingOver {
 public:
  explicit HandingOver(Use use) : use_(use) {}

  absl::StatusOr<Rows> Give(core::Block block) {
    Rows rows = {.count = block.rows()};
    std::vector<core::Column> columns = block.columns();
    block = {};  // From here on, what others hold is what counts.
    if (use_ != Use::kView) FindOwn(columns);
    for (core::Column& column : columns) {
      rows.columns.push_back(TRY(Convert(std::move(column))));
    }
    rows.copied_bytes = copied_bytes_;
    return rows;
  }

 private:
  absl::StatusOr<FieldColumn> Convert(core::Column column) {
    if (column.IsDense()) return ConvertDense(std::move(column));
    std::vector<FieldValue> values;
    values.reserve(column.rows());
    for (int64_t row = 0; row < column.rows(); ++row) {
      values.push_back(TRY(ConvertRow(column, row)));
    }
    return values;
  }

  absl::StatusOr<FieldColumn> ConvertDense(core::Column column) {
    // One row, a batch, is given as it is: nobody need take it out of an axis.
    const bool is_one = column.rows() == 1 && !column.levels().empty();
    std::vector<int64_t> shape;
    shape.reserve(column.levels().size() + 1);
    if (!is_one) shape.push_back(column.rows());
    for (const core::Level& level : column.levels()) shape.push_back(level.size);
    core::Buffer values = column.values();
    const core::DType dtype = column.dtype();
    column = {};
    Array array = TRY(GiveNumbers(dtype, std::move(shape), std::move(values)));
    if (!is_one) return array;
    return std::vector<FieldValue>{std::move(array)};
  }

  absl::StatusOr<FieldValue> ConvertRow(const core::Column& column, int64_t row) {
    const absl::StatusOr<core::Tensor> tensor = column.Row(row);
    if (!tensor.ok()) return GiveRagged(column.Slice(row, 1));
    if (core::IsVariable(tensor->dtype())) return GiveTexts(*tensor);
    return TRY(
        GiveNumbers(tensor->dtype(), SizesOf(tensor->shape()), tensor->values()));
  }

  // Finds memory that these columns alone have, each a part of its own, as those of a
  // frame that was received have.
  void FindOwn(const std::vector<core::Column>& columns) {
    std::map<const core::Storage*, std::vector<const core::Buffer*>> parts;
    for (const core::Column& column : columns) {
      if (column.HoldsTensors()) return;
      parts[column.values().storage().get()].push_back(&column.values());
      for (const core::Level& level : column.levels()) {
        parts[level.offsets.storage().get()].push_back(&level.offsets);
      }
    }
    for (auto& [storage, buffers] : parts) {
      if (storage == nullptr || buffers.size() < 2) continue;
      const bool alone = buffers[0]->storage().use_count() == std::ssize(buffers);
      if (alone && AreApart(buffers)) own_.insert(storage);
    }
  }

  static bool AreApart(std::vector<const core::Buffer*>& buffers) {
    std::ranges::sort(buffers, {}, &core::Buffer::data);
    const auto overlap = [](const core::Buffer* one, const core::Buffer* next) {
      return one->data() + one->size() > next->data();
    };
    return std::ranges::adjacent_find(buffers, overlap) == buffers.end();
  }

  static bool IsReadOnly(const core::Buffer& values) {
    return values.storage() != nullptr && values.storage()->read_only();
  }

  // Whether it can be given as it is.
  bool CanGive(const core::Buffer& values) const {
    if (use_ == Use::kView) return true;
    if (use_ == Use::kOwn && IsReadOnly(values)) return true;
    return IsOwn(values);
  }

  // Whether nobody else has the memory, another column included.
  bool IsOwn(const core::Buffer& values) const {
    const std::shared_ptr<core::Storage>& storage = values.storage();
    if (storage == nullptr) return false;
    if (use_ == Use::kPrivate && !storage->pooled()) return false;
    return storage.use_count() == 1 || own_.contains(storage.get());
  }

  absl::StatusOr<Array> GiveNumbers(core::DType dtype, std::vector<int64_t> shape,
                                    core::Buffer values) {
    if (!CanGive(values)) return CopyNumbers(dtype, std::move(shape), values);
    const SharedPlace shared = PlaceOf(values);
    const Mapping mapping = MappingOf(values);
    const bool writable = !IsReadOnly(values);
    const auto owner = std::make_shared<core::Buffer>(std::move(values));
    return Array{.dtype = std::string(core::Name(dtype)),
                 .shape = std::move(shape),
                 .data = owner->mutable_data(),
                 .owner = owner,
                 .shared = shared,
                 .mapping = mapping,
                 .writable = writable};
  }

  static Mapping MappingOf(const core::Buffer& values) {
    if (values.storage() == nullptr) return {};
    const std::shared_ptr<const core::Region> region =
        transport::SharedReader::MappingOf(*values.storage());
    if (region == nullptr) return {};
    return {.data = region->data, .bytes = region->size, .owner = region};
  }

  static SharedPlace PlaceOf(const core::Buffer& values) {
    if (values.storage() == nullptr) return {};
    const core::Region& region = values.storage()->region();
    return {.descriptor = region.descriptor,
            .bytes = region.size,
            .offset = values.data() - region.data};
  }

  absl::StatusOr<Array> CopyNumbers(core::DType dtype, std::vector<int64_t> shape,
                                    const core::Buffer& values) {
    copied_bytes_ += values.size();
    const auto owner = std::make_shared<core::Buffer>(
        TRY(core::CopyBytes(values.data(), values.size(), core::HeapPool())));
    return Array{.dtype = std::string(core::Name(dtype)),
                 .shape = std::move(shape),
                 .data = owner->mutable_data(),
                 .owner = owner};
  }

  static Texts GiveTexts(const core::Tensor& tensor) {
    const auto owner = std::make_shared<const core::Tensor>(tensor);
    Texts texts = {.is_string = tensor.dtype() == core::DType::kString,
                   .shape = SizesOf(tensor.shape()),
                   .owner = owner};
    texts.texts.reserve(tensor.count());
    for (int64_t i = 0; i < tensor.count(); ++i) {
      texts.texts.push_back(owner->TextAt(i));
    }
    return texts;
  }

  // One row whose parts differ in size: its values one after another, and offsets.
  absl::StatusOr<FieldValue> GiveRagged(core::Column row) {
    Ragged ragged;
    while (!row.levels().empty() && row.HasLeadingAxis()) {
      std::vector<int64_t> sizes;
      sizes.reserve(row.rows());
      for (int64_t i = 0; i < row.rows(); ++i) sizes.push_back(row.LeadingSize(i));
      ragged.axes.push_back(TRY(AxisOf(sizes)));
      row = row.Unstack();
    }
    if (row.HoldsTensors()) return GiveTensors(row, std::move(ragged));
    const core::Tensor values = TRY(Flat(row));
    if (core::IsVariable(values.dtype())) {
      ragged.values = GiveTexts(values);
    } else {
      ragged.values =
          TRY(CopyNumbers(values.dtype(), SizesOf(values.shape()), values.values()));
    }
    return FieldValue(std::move(ragged));
  }

  // The same where parts are tensors: their axes are those of the innermost parts.
  absl::StatusOr<FieldValue> GiveTensors(const core::Column& column, Ragged ragged) {
    std::vector<core::Tensor> tensors;
    tensors.reserve(column.rows());
    for (int64_t i = 0; i < column.rows(); ++i) tensors.push_back(TRY(column.Row(i)));
    const int rank = tensors.empty() ? 0 : tensors[0].shape().rank();
    for (int axis = 0; axis < rank; ++axis) {
      std::vector<int64_t> sizes;
      for (const core::Tensor& tensor : tensors) {
        int64_t parts = 1;
        for (int outer = 0; outer < axis; ++outer) parts *= tensor.shape()[outer];
        sizes.insert(sizes.end(), parts, tensor.shape()[axis]);
      }
      ragged.axes.push_back(TRY(AxisOf(sizes)));
    }
    ragged.values = TRY(Joined(column.dtype(), tensors));
    return FieldValue(std::move(ragged));
  }

  absl::StatusOr<std::variant<Array, Texts>> Joined(
      core::DType dtype, const std::vector<core::Tensor>& tensors) {
    if (core::IsVariable(dtype)) {
      const auto owner = std::make_shared<const std::vector<core::Tensor>>(tensors);
      Texts texts = {.is_string = dtype == core::DType::kString, .owner = owner};
      for (const core::Tensor& tensor : *owner) {
        for (int64_t i = 0; i < tensor.count(); ++i) {
          texts.texts.push_back(tensor.TextAt(i));
        }
      }
      texts.shape = {std::ssize(texts.texts)};
      return texts;
    }
    int64_t bytes = 0;
    for (const core::Tensor& tensor : tensors) bytes += tensor.values().size();
    core::Buffer all = TRY(core::HeapPool().Allocate(bytes));
    std::byte* to = all.mutable_data();
    for (const core::Tensor& tensor : tensors) {
      if (tensor.values().size() == 0) continue;
      std::memcpy(to, tensor.values().data(), tensor.values().size());
      to += tensor.values().size();
    }
    copied_bytes_ += bytes;
    const auto owner = std::make_shared<core::Buffer>(std::move(all));
    return Array{.dtype = std::string(core::Name(dtype)),
                 .shape = {bytes / core::SizeOf(dtype)},
                 .data = owner->mutable_data(),
                 .owner = owner};
  }

  // Parts of these sizes along an axis: the one size, or offsets.
  static absl::StatusOr<std::variant<int64_t, Array>> AxisOf(
      const std::vector<int64_t>& sizes) {
    const bool differ =
        std::ranges::any_of(sizes, [&](int64_t size) { return size != sizes[0]; });
    if (!sizes.empty() && !differ) return std::variant<int64_t, Array>(sizes[0]);
    core::Buffer ends =
        TRY(core::HeapPool().AllocateFor<int64_t>(std::ssize(sizes) + 1));
    const absl::Span<int64_t> places = ends.MutableAs<int64_t>();
    places[0] = 0;
    for (size_t i = 0; i < sizes.size(); ++i) places[i + 1] = places[i] + sizes[i];
    const auto owner = std::make_shared<core::Buffer>(std::move(ends));
    return Array{.dtype = "int64",
                 .shape = {std::ssize(places)},
                 .data = owner->mutable_data(),
                 .owner = owner};
  }

  // Scalars and texts, one after another, as one tensor.
  static absl::StatusOr<core::Tensor> Flat(const core::Column& column) {
    return column.Stack(column.rows()).Row(0);
  }

  const Use use_;
  std::set<const core::Storage*> own_;
  int64_t copied_bytes_ = 0;
};

}  // namespace

absl::StatusOr<Rows> HandOver(core::Block block) {
  return HandingOver(Use::kOwn).Give(std::move(block));
}

absl::StatusOr<Rows> HandOverPrivate(core::Block block) {
  return HandingOver(Use::kPrivate).Give(std::move(block));
}

absl::StatusOr<Rows> View(const core::Block& block) {
  return HandingOver(Use::kView).Give(block);
}

}  // namespace millrace::python
