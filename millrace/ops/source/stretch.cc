#include "millrace/ops/source/stretch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/allocator.h"

namespace millrace::ops {
namespace {

constexpr int64_t kSummedBytes = 256 << 10;  // Less than the nearer caches hold.

}  // namespace

int64_t AlignedPlace(int64_t offset) { return offset & (core::kAlignment - 1); }

absl::StatusOr<absl::Span<std::byte>> Stretch::Room() {
  if (room_.size() == 0) room_ = TRY(pool_->Allocate(place_.headroom + place_.size));
  const int64_t rest = place_.size - got_;
  return absl::Span<std::byte>(room_.mutable_data() + place_.headroom + got_,
                               sum_ ? std::min(rest, kSummedBytes) : rest);
}

template <typename Read>
absl::Status Stretch::ReadPieces(const Read& read) {
  while (got_ < place_.size) {
    const absl::Span<std::byte> room = TRY(Room());
    const int64_t got = TRY(read(place_.offset + got_, room));
    if (sum_) {
      const auto* const bytes = reinterpret_cast<const char*>(room.data());
      sum_ = codec::Crc32c({bytes, static_cast<size_t>(got)}, *sum_);
    }
    got_ += got;
    if (got < std::ssize(room)) break;
  }
  return absl::OkStatus();
}

void Stretch::Fetch() {
  if (is_there()) return;
  status_ = ReadPieces([&](int64_t offset, absl::Span<std::byte> room) {
    return blob_->Read(offset, room);
  });
  CHECK(is_there());
}

bool Stretch::FetchNow() {
  if (is_there()) return true;
  status_ = ReadPieces([&](int64_t offset, absl::Span<std::byte> room) {
    return blob_->ReadNow(offset, room);
  });
  return is_there();
}

}  // namespace millrace::ops
