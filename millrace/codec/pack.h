// Packing: bytes that are all there into fewer, and back, one piece at a time (lz4's
// blocks, zstd at its fastest level). For what is on its way; files are decompress.h's.
// A packer keeps the library's memory for the next piece; of one thread. What is
// unpacked may come from anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace millrace::codec {

enum class Packing : uint8_t { kLz4, kZstd };

// The most that one piece may have.
inline constexpr size_t kPieceBytesMax = size_t{1} << 30;

class Packer {
 public:
  explicit Packer(Packing packing);
  ~Packer();
  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;

  // Packs a piece; gives how many bytes it has then, nothing where they do not fit into
  // the room. Requires: at most kPieceBytesMax.
  std::optional<size_t> Pack(std::string_view piece, absl::Span<std::byte> room);

  // Unpacks a piece into room of exactly its size. DataLoss where it is none, or has
  // another size.
  absl::Status Unpack(std::string_view packed, absl::Span<std::byte> room);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace millrace::codec
