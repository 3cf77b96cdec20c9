// A stretch of a file on its way into memory: fetched once, by any thread, apart from
// whatever else is read of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/ops/source.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {

class Stretch final : public FetchAhead {
 public:
  // Which bytes of the file, and how many are left free in front of them.
  struct Place {
    int64_t offset = 0;
    int64_t size = 0;
    int64_t headroom = 0;
    std::optional<uint32_t> sum_before = {};  // Set: it is summed up, going on from it.
  };

  // Makes its room when it is fetched.
  Stretch(std::shared_ptr<const storage::Blob> blob, const Place& place,
          core::Pool& pool)
      : blob_(std::move(blob)), place_(place), pool_(&pool), sum_(place.sum_before) {}

  // Has its room, which nobody reads yet.
  Stretch(std::shared_ptr<const storage::Blob> blob, const Place& place,
          core::Buffer room)
      : blob_(std::move(blob)),
        place_(place),
        room_(std::move(room)),
        sum_(place.sum_before) {}

  void Fetch() override;
  bool FetchNow() override;

  int64_t size() const { return place_.size; }

  int64_t headroom() const { return place_.headroom; }

  const core::Buffer& room() const { return room_; }

  // The checksum up to its end, where that is wanted and it is all there: taken piece
  // by piece as they are read, while they are in the caches.
  const std::optional<uint32_t>& sum() const { return sum_; }

  // Why it could not be fetched.
  const absl::Status& status() const { return status_; }

 private:
  bool is_there() const { return !status_.ok() || got_ == place_.size; }

  // Where the next piece goes.
  absl::StatusOr<absl::Span<std::byte>> Room();

  // Reads the rest with `read`, for as long as that gives whole pieces.
  template <typename Read>
  absl::Status ReadPieces(const Read& read);

  const std::shared_ptr<const storage::Blob> blob_;
  const Place place_;
  core::Pool* const pool_ = nullptr;
  core::Buffer room_;
  int64_t got_ = 0;
  std::optional<uint32_t> sum_;
  absl::Status status_;
};

// Where to put what stands at an offset of a file, so that it is aligned as it is in
// the page cache: to copy it from there takes several times as long otherwise.
int64_t AlignedPlace(int64_t offset);

}  // namespace millrace::ops
