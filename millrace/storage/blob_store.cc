#include "millrace/storage/blob_store.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::storage {

absl::StatusOr<std::string> ReadWhole(const BlobStore& store, const BlobInfo& listed,
                                      int64_t bytes_max) {
  if (listed.bytes > bytes_max) {
    return absl::ResourceExhaustedError(
        base::StrCat("file is too large to be read at once: ", listed.path, " has ",
                     listed.bytes, " bytes, at most ", bytes_max, " are read"));
  }
  const std::unique_ptr<Blob> blob = TRY(store.Open(listed));
  std::string content(listed.bytes, '\0');
  const absl::Span<std::byte> room(reinterpret_cast<std::byte*>(content.data()),
                                   content.size());
  content.resize(TRY(blob->Read(0, room)));
  return content;
}

}  // namespace millrace::storage
