// How a block becomes a frame.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/frames/frame.h"
#include "millrace/frames/layout.h"

namespace millrace::frames {
namespace {

constexpr int64_t kOffsetSize = sizeof(int64_t);

class Encoder {
 public:
  Encoder(core::Pool& pool, Summed summed) : pool_(pool), summed_(summed) {}

  absl::StatusOr<Frame> Make(const core::Block& block) && {
    constexpr size_t kMostBytesOfColumn = 64;
    header_.reserve((block.columns().size() + 1) * kMostBytesOfColumn);
    body_.reserve(block.columns().size() + 1);
    codec::PutVarint(block.columns().size(), header_);
    for (size_t i = 0; i < block.columns().size(); ++i) {
      codec::PutText(block.names()[i], header_);
      TRY(PutColumn(block.columns()[i]));
    }
    codec::PutVarint(block.has_ids() ? 1 : 0, header_);
    if (block.has_ids()) TRY(PutColumn(*block.ids()));
    return Framed(block.rows());
  }

 private:
  absl::Status PutColumn(const core::Column& column) {
    const core::Column touching = TRY(core::WithoutGaps(column, pool_));
    const bool tensors = touching.HoldsTensors();
    codec::PutVarint(static_cast<uint64_t>(column.dtype()), header_);
    codec::PutVarint(
        static_cast<uint64_t>(tensors ? ColumnKind::kTensors : ColumnKind::kLevels),
        header_);
    codec::PutVarint(touching.levels().size(), header_);
    core::Extent here = {0, touching.rows()};
    for (const core::Level& level : touching.levels()) {
      codec::PutVarint(static_cast<uint64_t>(level.size + 1), header_);
      if (!level.fixed()) TRY(PutOffsets(level.offsets, here));
      here = level.Below(here);
    }
    if (tensors) {
      return PutTensors(touching.tensors().subspan(here.begin, here.end - here.begin));
    }
    const int64_t size =
        core::IsVariable(column.dtype()) ? 1 : core::SizeOf(column.dtype());
    PutBuffer(
        touching.values().Slice(here.begin * size, (here.end - here.begin) * size));
    return absl::OkStatus();
  }

  // Offsets begin with 0 in a frame: what stands before them does not come with them.
  absl::Status PutOffsets(const core::Buffer& offsets, core::Extent here) {
    core::Buffer part = offsets.Slice(here.begin * kOffsetSize,
                                      (here.end - here.begin + 1) * kOffsetSize);
    const absl::Span<const int64_t> from = part.As<int64_t>();
    if (from[0] != 0) {
      core::Buffer moved = TRY(pool_.Allocate(part.size()));
      std::ranges::transform(from, moved.MutableAs<int64_t>().begin(),
                             [&](int64_t offset) { return offset - from[0]; });
      part = std::move(moved);
    }
    PutBuffer(std::move(part));
    return absl::OkStatus();
  }

  absl::Status PutTensors(absl::Span<const core::Tensor> tensors) {
    codec::PutVarint(tensors.size(), header_);
    for (const core::Tensor& tensor : tensors) {
      codec::PutVarint(tensor.shape().rank(), header_);
      for (const int64_t size : tensor.shape().sizes()) {
        codec::PutVarint(size, header_);
      }
      TRY(PutTensor(tensor));
    }
    return absl::OkStatus();
  }

  absl::Status PutTensor(const core::Tensor& tensor) {
    if (!core::IsVariable(tensor.dtype())) {
      PutBuffer(tensor.values());
      return absl::OkStatus();
    }
    const int64_t count = tensor.count();
    TRY(PutOffsets(tensor.offsets(), {0, count}));
    const absl::Span<const int64_t> offsets = tensor.offsets().As<int64_t>();
    PutBuffer(tensor.values().Slice(offsets[0], offsets[count] - offsets[0]));
    return absl::OkStatus();
  }

  void PutBuffer(core::Buffer buffer) {
    codec::PutVarint(buffer.size(), header_);
    body_.push_back(std::move(buffer));
  }

  Frame Framed(int64_t rows) {
    Preamble preamble = {.header_bytes = static_cast<int64_t>(header_.size()),
                         .rows = rows,
                         .header_crc = codec::Crc32c(header_)};
    Frame frame({}, std::move(body_), rows);
    if (summed_ == Summed::kAll) {
      (void)frame.ForEachPiece([&](std::string_view piece) {
        preamble.body_crc = codec::Crc32c(piece, preamble.body_crc);
        return absl::OkStatus();
      });
    }
    preamble.body_bytes = frame.bytes();
    std::string head = WritePreamble(preamble);
    head += header_;
    head.resize(preamble.head_bytes());
    frame.SetHead(std::move(head));
    return frame;
  }

  core::Pool& pool_;
  const Summed summed_;
  std::string header_;
  std::vector<core::Buffer> body_;
};

}  // namespace

absl::StatusOr<Frame> Encode(const core::Block& block, core::Pool& pool,
                             Summed summed) {
  return Encoder(pool, summed).Make(block);
}

}  // namespace millrace::frames
