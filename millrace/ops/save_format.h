// The formats that rows can be saved in: one file in `ops/format` and one line in
// `ops/formats.inc` each; adapters add theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {

// A file of rows being written. One thread uses it; dropped without Publish, it is
// gone.
class RowsFile {
 public:
  virtual ~RowsFile() = default;

  virtual absl::Status Append(const core::Block& rows) = 0;

  // About how long the file is by now.
  virtual int64_t bytes() const = 0;

  // Makes it appear, complete. Call it once, last.
  virtual absl::Status Publish() = 0;
};

// What a file may know of what it is for.
struct RowsFileContext {
  core::Spec spec;        // Of all rows.
  int64_t first_row = 0;  // The number of its first one, among all.
  core::Pool& pool;       // Outlives it.
};

struct SaveFormat {
  std::string name;    // "frames"
  std::string ending;  // ".frames": it tells the source that reads it, as for `read`.
  std::string doc;

  // Tells why rows of a spec do not fit, and what to do then.
  std::function<absl::Status(const core::Spec&)> check;

  // Tells whether rows are numbered among all that are saved: such files can be
  // written only one after the other.
  std::function<bool(const core::Spec&)> numbers_rows = [](const core::Spec&) {
    return false;
  };

  // Gives the rows as they are when they are read again.
  std::function<core::Spec(const core::Spec&)> read_as = [](const core::Spec& spec) {
    return spec;
  };

  // Begins a file. Requires: the rows fit.
  std::function<absl::StatusOr<std::unique_ptr<RowsFile>>(
      std::unique_ptr<storage::BlobWriter>, const RowsFileContext&)>
      begin;
};

// By name. Those of one library, also what is added to it later.
using SaveFormats = std::map<std::string, SaveFormat>;

// Finds one. An error names those there are.
absl::StatusOr<const SaveFormat*> FindFormat(const SaveFormats& formats,
                                             const std::string& name);

}  // namespace millrace::ops
