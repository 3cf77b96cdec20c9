// A stretch of a file on its way into memory: fetched once, by any thread, apart from
// whatever else is read of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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
  };

  // Makes its room when it is fetched.
  Stretch(std::shared_ptr<const storage::Blob> blob, const Place& place,
          core::Pool& pool)
      : blob_(std::move(blob)), place_(place), pool_(&pool) {}

  // Has its room, which nobody reads yet.
  Stretch(std::shared_ptr<const storage::Blob> blob, const Place& place,
          core::Buffer room)
      : blob_(std::move(blob)), place_(place), room_(std::move(room)) {}

  void Fetch() override;
  bool FetchNow() override;

  int64_t size() const { return place_.size; }

  int64_t headroom() const { return place_.headroom; }

  const core::Buffer& room() const { return room_; }

  // Why it could not be fetched.
  const absl::Status& status() const { return status_; }

 private:
  bool is_there() const { return !status_.ok() || got_ == place_.size; }

  // Where the rest goes.
  absl::StatusOr<absl::Span<std::byte>> Room();

  const std::shared_ptr<const storage::Blob> blob_;
  const Place place_;
  core::Pool* const pool_ = nullptr;
  core::Buffer room_;
  int64_t got_ = 0;
  absl::Status status_;
};

// Where to put what stands at an offset of a file, so that it is aligned as it is in
// the page cache: to copy it from there takes several times as long otherwise.
int64_t AlignedPlace(int64_t offset);

}  // namespace millrace::ops
