// How a frame becomes a block.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/frames/frame.h"
#include "millrace/frames/layout.h"

namespace millrace::frames {
namespace {

constexpr int64_t kOffsetSize = sizeof(int64_t);

// Identities are pairs of numbers, below the axes that stacking has added.
bool CanBeIds(const core::Column& column) {
  return column.dtype() == core::DType::kUint64 && !column.HoldsTensors() &&
         !column.levels().empty() && column.levels().back().size == 2;
}

// The body of a frame, in one part or several.
struct Body {
  std::vector<core::Buffer> parts;
  bool steady = true;  // Nobody writes to it meanwhile.
};

class Decoder {
 public:
  Decoder(const Preamble& preamble, std::string_view header, Body body)
      : rows_(preamble.rows), taker_(header, kWhat), body_(std::move(body)) {}

  absl::StatusOr<core::Block> Make() && {
    const int64_t fields = TRY(taker_.Count(kFieldsMax));
    auto names = std::make_shared<core::FieldNames>();
    std::vector<core::Column> columns;
    absl::flat_hash_set<std::string_view> seen;
    for (int64_t i = 0; i < fields; ++i) {
      const std::string_view name = TRY(taker_.Text());
      if (!core::CheckFieldName(name).ok() || !seen.insert(name).second) {
        return taker_.Damaged("a field has a name that none can have");
      }
      names->emplace_back(name);
      columns.push_back(TRY(TakeColumn()));
    }
    std::optional<core::Column> ids;
    if (TRY(taker_.Count(1)) == 1) ids = TRY(TakeColumn());
    if (ids && !CanBeIds(*ids)) return taker_.Damaged("its identities are none");
    EndPart();
    if (taker_.left() > 0 || part_ != body_.parts.size()) {
      return taker_.Damaged("it has bytes that mean nothing");
    }
    core::Block block(rows_, std::move(names), std::move(columns));
    return ids ? block.WithIds(*std::move(ids)) : block;
  }

 private:
  absl::StatusOr<core::Column> TakeColumn() {
    const int64_t number = TRY(taker_.Count(std::ssize(core::kAllDTypes) - 1));
    const core::DType dtype = core::kAllDTypes[number];
    const auto kind = static_cast<ColumnKind>(TRY(taker_.Count(1)));
    const int64_t count = TRY(taker_.Count(kLevelsMax));
    core::Levels levels;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t size = TRY(taker_.Count(kFrameBytesMax)) - 1;
      levels.push_back(size < 0 ? core::Level::Variable(TRY(TakeOffsets()))
                                : core::Level::Fixed(size));
    }
    absl::StatusOr<core::Column> column = kind == ColumnKind::kTensors
                                              ? TakeTensors(dtype, std::move(levels))
                                              : TakeValues(dtype, std::move(levels));
    if (column.ok() || absl::IsDataLoss(column.status())) return column;
    return taker_.Damaged(base::ToStd(column.status().message()));
  }

  absl::StatusOr<core::Column> TakeValues(core::DType dtype, core::Levels levels) {
    core::Buffer values = TRY(TakeBuffer());
    TRY(CheckBools(dtype, values));
    return core::Column::FromLevels(dtype, rows_, std::move(levels), std::move(values));
  }

  // Any other byte in a bool is undefined behaviour for whoever reads it.
  absl::Status CheckBools(core::DType dtype, const core::Buffer& values) const {
    if (dtype != core::DType::kBool) return absl::OkStatus();
    const bool sane = std::ranges::all_of(
        values.text(), [](char value) { return value == 0 || value == 1; });
    return sane ? absl::OkStatus() : taker_.Damaged("a bool is neither 0 nor 1");
  }

  absl::StatusOr<core::Column> TakeTensors(core::DType dtype, core::Levels levels) {
    // Each takes a byte of the header at least.
    const int64_t count = TRY(taker_.Count(static_cast<int64_t>(taker_.left())));
    core::Tensors tensors;
    tensors.reserve(count);
    for (int64_t i = 0; i < count; ++i) tensors.push_back(TRY(TakeTensor(dtype)));
    core::Column flat = core::Column::OfTensors(dtype, std::move(tensors));
    if (levels.empty() && count == rows_) return flat;
    TRY(CheckNests(levels, count));
    return flat.Nest(rows_, std::move(levels));
  }

  // Levels above tensors are checked like those above as many bytes.
  absl::Status CheckNests(const core::Levels& levels, int64_t count) const {
    static constexpr char kNothing = 0;  // Looked at by nobody.
    const core::Buffer places = core::Buffer::Wrap(&kNothing, count, nullptr);
    TRY(core::Column::FromLevels(core::DType::kUint8, rows_, levels, places));
    core::Extent here = {0, rows_};
    for (const core::Level& level : levels) here = level.Below(here);
    if (here.end == count) return absl::OkStatus();
    return taker_.Damaged("its tensors are not as many as its rows have");
  }

  absl::StatusOr<core::Tensor> TakeTensor(core::DType dtype) {
    const int64_t rank = TRY(taker_.Count(kLevelsMax));
    absl::InlinedVector<int64_t, 4> sizes;
    for (int64_t axis = 0; axis < rank; ++axis) {
      sizes.push_back(TRY(taker_.Count(kFrameBytesMax)));
    }
    core::Shape shape(sizes);
    const int64_t count = TRY(shape.CountChecked());
    if (core::IsVariable(dtype)) return TakeTexts(dtype, std::move(shape), count);
    core::Buffer values = TRY(TakeBuffer());
    if (count > kFrameBytesMax || values.size() != count * core::SizeOf(dtype)) {
      return taker_.Damaged("a tensor has not as many values as its shape says");
    }
    TRY(CheckBools(dtype, values));
    return core::Tensor::Fixed(dtype, std::move(shape), std::move(values));
  }

  // The checks are a column's.
  absl::StatusOr<core::Tensor> TakeTexts(core::DType dtype, core::Shape shape,
                                         int64_t count) {
    core::Buffer offsets = TRY(TakeOffsets());
    core::Buffer data = TRY(TakeBuffer());
    TRY(core::Column::FromLevels(dtype, count, {core::Level::Variable(offsets)}, data));
    return core::Tensor::Texts(dtype, std::move(shape), std::move(offsets),
                               std::move(data));
  }

  absl::StatusOr<core::Buffer> TakeOffsets() {
    core::Buffer offsets = TRY(TakeBuffer());
    if (!body_.steady) {
      offsets = TRY(core::CopyBytes(offsets.data(), offsets.size(), core::HeapPool()));
    }
    if (offsets.size() == 0 || offsets.size() % kOffsetSize != 0 ||
        offsets.As<int64_t>()[0] != 0) {
      return taker_.Damaged("it has offsets that do not begin with 0");
    }
    return offsets;
  }

  absl::StatusOr<core::Buffer> TakeBuffer() {
    EndPart();
    const bool none = part_ == body_.parts.size();
    const core::Buffer part = none ? core::Buffer() : body_.parts[part_];
    const int64_t size = TRY(taker_.Count(part.size() - place_));
    const int64_t begin = place_;
    place_ += PaddedBytes(size);
    return part.Slice(begin, size);
  }

  // Goes on with the next part where nothing of this is left.
  void EndPart() {
    while (part_ < body_.parts.size() && place_ >= body_.parts[part_].size()) {
      ++part_;
      place_ = 0;
    }
  }

  const int64_t rows_;
  codec::Taker taker_;
  const Body body_;
  size_t part_ = 0;    // Of what was not taken yet.
  int64_t place_ = 0;  // In that part.
};

absl::StatusOr<Preamble> ReadHead(std::string_view head) {
  const codec::Taker whole(head, kWhat);
  if (std::ssize(head) < kPreambleBytes) return whole.Damaged("it is cut off");
  const Preamble preamble = TRY(ReadPreamble(head.substr(0, kPreambleBytes)));
  if (std::ssize(head) < preamble.head_bytes()) return whole.Damaged("it is cut off");
  const std::string_view header = head.substr(kPreambleBytes, preamble.header_bytes);
  if (codec::Crc32c(header) != preamble.header_crc) {
    return whole.Damaged("its checksum does not fit");
  }
  return preamble;
}

std::string_view HeaderOf(const core::Buffer& head, const Preamble& preamble) {
  return head.text().substr(kPreambleBytes, preamble.header_bytes);
}

}  // namespace

absl::StatusOr<core::Block> Decode(const core::Buffer& frame, Summed summed) {
  const codec::Taker whole(frame.text(), kWhat);
  const Preamble preamble = TRY(ReadHead(frame.text()));
  if (frame.size() != preamble.head_bytes() + preamble.body_bytes) {
    return whole.Damaged("it has not as many bytes as it says");
  }
  core::Buffer body = frame.Slice(preamble.head_bytes(), preamble.body_bytes);
  if (summed == Summed::kAll && codec::Crc32c(body.text()) != preamble.body_crc) {
    return whole.Damaged("its checksum does not fit");
  }
  return Decoder(preamble, HeaderOf(frame, preamble), {{std::move(body)}}).Make();
}

absl::StatusOr<core::Block> DecodeParts(const core::Buffer& head,
                                        std::vector<core::Buffer> body) {
  const codec::Taker whole(head.text(), kWhat);
  const Preamble preamble = TRY(ReadHead(head.text()));
  int64_t bytes = 0;
  for (const core::Buffer& part : body) {
    if (reinterpret_cast<uintptr_t>(part.data()) % kFrameAlignment != 0) {
      return whole.Damaged("a part of it is where no part can be");
    }
    bytes += PaddedBytes(part.size());
  }
  const bool fits =
      head.size() == preamble.head_bytes() && bytes == preamble.body_bytes;
  if (!fits) return whole.Damaged("it has not as many bytes as it says");
  return Decoder(preamble, HeaderOf(head, preamble),
                 {.parts = std::move(body), .steady = false})
      .Make();
}

}  // namespace millrace::frames
