// Decompression in pieces: bytes go in as they come, bytes come out as there is room,
// so that neither a long file nor a short one that unfolds without end takes more
// memory than its reader gives. Gzip (members one after another are one content), zstd
// and lz4 (frames likewise) and snappy (chunks in frames, as its authors describe; one
// cut off between two chunks cannot be told). A decompressor is single-threaded; it
// costs what the library does.
//
//   std::unique_ptr<Decompressor> unfold = MakeDecompressor(Compression::kGzip);
//   Progress done = TRY(unfold->Run(bytes, room));    // Until all was taken and
//   ...                                               // room was left,
//   TRY(unfold->Finish());                            // then: was that all of it?
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace::codec {

enum class Compression : uint8_t { kNone, kGzip, kZstd, kLz4, kSnappy };

// Tells by a file's name: .gz, .tgz, .zst, .tzst, .lz4, .sz, in any case of letters.
Compression CompressionOfName(std::string_view path);

// Tells by the first bytes: four are enough.
Compression CompressionOfContent(std::string_view bytes);

struct Progress {
  int64_t taken = 0;  // Bytes of the input that need not be given again.
  int64_t given = 0;  // Bytes written.
};

struct DecompressOptions {
  // Content in all; what has more is an error.
  int64_t content_bytes_max = std::numeric_limits<int64_t>::max();
};

class Decompressor {
 public:
  virtual ~Decompressor() = default;

  // Takes what it can of `bytes` and fills what it can of `room`. When it filled all of
  // it there may be more to come, also without new bytes. Corrupt bytes are DataLoss
  // with their place; nothing can be read after that.
  virtual absl::StatusOr<Progress> Run(std::string_view bytes,
                                       absl::Span<std::byte> room) = 0;

  // There are no more bytes: tells whether they ended where content may end.
  virtual absl::Status Finish() const = 0;
};

// Requires: a compression, not kNone.
std::unique_ptr<Decompressor> MakeDecompressor(Compression compression,
                                               const DecompressOptions& options = {});

}  // namespace millrace::codec
