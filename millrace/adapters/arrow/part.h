// A part of a file being read (a row group, a record batch), shared by all who read
// rows of it, so that it is fetched and decoded once. Decoded field by field, all of it
// or in slices of some thousand rows: whoever wants a slice decodes what nobody is at
// yet, so that several threads are done sooner. A slice is dropped once all its rows
// were taken; of those that nobody wants a few are kept, and the bytes only until the
// last is decoded. From any thread. Takes wait for others that decode, never for the
// disk.
//
//   Fetch ──► bytes ──► slice 0: [field a][field b] ──► Take
//                       slice 1: [field a][ ...   ]
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/adapters/arrow/import.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/adapters/arrow/part_bytes.h"
#include "millrace/base/mutex.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {

// The rows of a slice, by leaf.
using Slice = std::vector<Imported>;

// Which leaves of a file are wanted; they outlive all that is read.
using WantedLeaves = std::vector<const Leaf*>;

class Part {
 public:
  // Requires: the store and the pool outlive it.
  Part(std::shared_ptr<const ColumnarFile> file, int64_t number, WantedLeaves leaves,
       const storage::BlobStore& store, core::Pool& pool);

  int64_t number() const { return number_; }

  const WantedLeaves& leaves() const { return leaves_; }

  // Rows of a slice, but for the last.
  int64_t slice_rows() const { return slice_rows_; }

  // Rows of a block that is good to work on.
  int64_t block_rows() const { return block_rows_; }

  // Brings in the bytes, if nobody has; waits for the disk.
  absl::Status Fetch() { return bytes_.Fetch(); }

  // Does as much of that as takes no waiting; gives whether all is there.
  absl::StatusOr<bool> FetchNow() { return bytes_.FetchNow(); }

  // Says that somebody will take of these slices, or will not after all; what is wanted
  // is not dropped.
  void Want(int64_t slice_begin, int64_t slice_end);
  void Unwant(int64_t slice_begin, int64_t slice_end);

  // How many slices were decoded.
  int64_t position() const;

  // Tells whether a slice is gone, so that it takes another part to decode it again.
  bool WasDropped(int64_t slice) const;

  // Gives a slice, of which so many rows are wanted; nothing where it was dropped
  // already. Requires: the bytes were fetched.
  absl::StatusOr<std::shared_ptr<const Slice>> Take(int64_t slice, int64_t rows);

 private:
  // A slice on its way.
  struct Decoding {
    std::shared_ptr<Slice> slice;
    size_t missing = 0;  // Fields that are not decoded yet.
    int64_t taken = 0;   // Rows.
  };

  struct Field {
    int64_t number = 0;               // In the file.
    std::vector<size_t> leaves = {};  // In the slices.
    int64_t next = 0;                 // The slice to decode next.
    bool busy = false;
  };

  int64_t RowsOf(int64_t slice) const;
  int64_t slices() const;
  absl::Status OpenIfNeeded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsDropped(int64_t slice) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Decoding& At(int64_t slice) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Field* FreeField(int64_t slice) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DecodeNext(Field& field) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::vector<Imported>> Decode(const Field& field,
                                               MillraceArrowPart* part) const;
  void DropOld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const ColumnarFile> file_;
  const int64_t number_;
  const WantedLeaves leaves_;
  core::Pool& pool_;
  PartBytes bytes_;
  int64_t slice_rows_ = 1;
  int64_t block_rows_ = 1;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // Of decoding: the end of it.
  std::shared_ptr<MillraceArrowPart> opened_ ABSL_GUARDED_BY(mutex_);
  std::vector<Field> fields_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, std::shared_ptr<Decoding>> decoding_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, int64_t> wanted_ ABSL_GUARDED_BY(mutex_);  // By how many, if any.
};

}  // namespace millrace::arrow
