#include "millrace/codec/pack.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::codec {
namespace {

constexpr int kZstdLevel = 1;
constexpr int kLz4Speed = 1;  // The library's default.

struct Free {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }

  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

absl::Status Corrupt(std::string_view packed, size_t size) {
  return absl::DataLossError(base::StrCat("a piece of ", packed.size(),
                                          " bytes cannot be unpacked to ", size,
                                          ": it was damaged on its way"));
}

}  // namespace

// What is needed of it is made when it is needed first.
struct Packer::Memory {
  Packing packing;
  std::string lz4 = {};
  std::unique_ptr<ZSTD_CCtx, Free> zstd_in = nullptr;
  std::unique_ptr<ZSTD_DCtx, Free> zstd_out = nullptr;
};

Packer::Packer(Packing packing)
    : memory_(std::make_unique<Memory>(Memory{.packing = packing})) {}

Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

std::optional<size_t> Packer::Pack(std::string_view piece, absl::Span<std::byte> room) {
  CHECK_LE(piece.size(), kPieceBytesMax);
  if (memory_->packing == Packing::kLz4) {
    const size_t most = std::min(room.size(), kPieceBytesMax);
    memory_->lz4.resize(static_cast<size_t>(LZ4_sizeofState()));
    const int size = LZ4_compress_fast_extState(
        memory_->lz4.data(), piece.data(), reinterpret_cast<char*>(room.data()),
        static_cast<int>(piece.size()), static_cast<int>(most), kLz4Speed);
    if (size <= 0) return std::nullopt;
    return static_cast<size_t>(size);
  }
  if (memory_->zstd_in == nullptr) memory_->zstd_in.reset(ZSTD_createCCtx());
  CHECK(memory_->zstd_in != nullptr);
  const size_t size =
      ZSTD_compressCCtx(memory_->zstd_in.get(), room.data(), room.size(), piece.data(),
                        piece.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) return std::nullopt;
  return size;
}

absl::Status Packer::Unpack(std::string_view packed, absl::Span<std::byte> room) {
  if (packed.size() > kPieceBytesMax || room.size() > kPieceBytesMax) {
    return Corrupt(packed, room.size());
  }
  if (memory_->packing == Packing::kLz4) {
    const int size = LZ4_decompress_safe(
        packed.data(), reinterpret_cast<char*>(room.data()),
        static_cast<int>(packed.size()), static_cast<int>(room.size()));
    if (size < 0 || static_cast<size_t>(size) != room.size()) {
      return Corrupt(packed, room.size());
    }
    return absl::OkStatus();
  }
  if (memory_->zstd_out == nullptr) memory_->zstd_out.reset(ZSTD_createDCtx());
  CHECK(memory_->zstd_out != nullptr);
  const size_t size = ZSTD_decompressDCtx(memory_->zstd_out.get(), room.data(),
                                          room.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != room.size()) {
    return Corrupt(packed, room.size());
  }
  return absl::OkStatus();
}

}  // namespace millrace::codec
