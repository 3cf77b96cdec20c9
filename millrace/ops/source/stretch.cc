#include "millrace/ops/source/stretch.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/allocator.h"

namespace millrace::ops {

int64_t AlignedPlace(int64_t offset) { return offset & (core::kAlignment - 1); }

absl::StatusOr<absl::Span<std::byte>> Stretch::Room() {
  if (room_.size() == 0) room_ = TRY(pool_->Allocate(place_.headroom + place_.size));
  return absl::Span<std::byte>(room_.mutable_data() + place_.headroom + got_,
                               place_.size - got_);
}

void Stretch::Fetch() {
  const auto read = [&]() -> absl::Status {
    got_ += TRY(blob_->Read(place_.offset + got_, TRY(Room())));
    CHECK_EQ(got_, place_.size);
    return absl::OkStatus();
  };
  if (!is_there()) status_ = read();
}

bool Stretch::FetchNow() {
  const auto read = [&]() -> absl::Status {
    got_ += TRY(blob_->ReadNow(place_.offset + got_, TRY(Room())));
    return absl::OkStatus();
  };
  if (!is_there()) status_ = read();
  return is_there();
}

}  // namespace millrace::ops
