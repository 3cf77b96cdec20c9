// A source whose rows are whole files. A split is a run of files of the listing, so
// that a million small ones are no burden; every row can be read on its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/spec.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {

inline constexpr int64_t kFilesPerSplit = 1024;

struct WholeFile {
  storage::BlobInfo info;
  int64_t label = 0;  // Where the format has one.
};

// Which fields of the spec hold what.
struct FileFields {
  core::Spec spec;
  int bytes = 0;
  int path = 0;
  int label = -1;  // None.
};

class FileSource : public Source {
 public:
  FileSource(FileFields fields, const SourceContext& context);

  absl::StatusOr<lanes::Manifest> List() final;
  std::string NameOfRow(int64_t split, int64_t row) const override;
  absl::StatusOr<std::vector<RowPlace>> PlacesOf(
      int64_t split, absl::Span<const int64_t> rows) const override;
  absl::StatusOr<std::unique_ptr<Reader>> Open(const lanes::RowRange& rows) const final;

 protected:
  // Finds the files, in order.
  virtual absl::StatusOr<std::vector<WholeFile>> Find() const = 0;

  const SourceContext& context() const { return context_; }

 private:
  const FileFields fields_;
  const SourceContext context_;
  std::vector<WholeFile> files_;
};

}  // namespace millrace::ops
