// Keeps where the rows of a file begin while it is read, and writes that down beside
// the file when all of it was read: the next pass then counts the rows and reads from
// anywhere. It is written by a thread that waits for disks; a folder that cannot be
// written to is no reason to stop.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/ops/source.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

class IndexWriter final : public FetchAhead {
 public:
  // Requires: the store outlives it.
  IndexWriter(const storage::BlobStore& store, storage::BlobInfo file,
              storage::RowFormat format)
      : store_(store), file_(std::move(file)), format_(format) {}

  // The next row begins there.
  void Add(int64_t offset) { offsets_.push_back(offset); }

  // The last one ends there: the index can be written.
  void End(int64_t offset) { offsets_.push_back(offset); }

  void Fetch() override;

  bool FetchNow() override { return written_; }

 private:
  const storage::BlobStore& store_;
  const storage::BlobInfo file_;
  const storage::RowFormat format_;
  std::vector<int64_t> offsets_;
  bool written_ = false;
};

}  // namespace millrace::ops
