// For tests: compresses, so that there is something to decompress.
#pragma once

#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "millrace/base/check.h"
#include "millrace/codec/crc32c.h"

namespace millrace::codec {

// One gzip member.
inline std::string Gzipped(std::string_view content) {
  z_stream stream = {};
  constexpr int kGzipHeader = 16;
  CHECK_EQ(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                        kGzipHeader + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
           Z_OK);
  std::string bytes(deflateBound(&stream, content.size()), '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  CHECK_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

// One zstd frame, with a checksum of its content.
inline std::string Zstandard(std::string_view content) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string bytes(ZSTD_compressBound(content.size()), '\0');
  const size_t size = ZSTD_compress2(context, bytes.data(), bytes.size(),
                                     content.data(), content.size());
  ZSTD_freeCCtx(context);
  CHECK_EQ(ZSTD_isError(size), 0U);
  bytes.resize(size);
  return bytes;
}

// One lz4 frame, with a checksum of its content.
inline std::string Lz4Framed(std::string_view content) {
  LZ4F_preferences_t preferences = {};
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  std::string bytes(LZ4F_compressFrameBound(content.size(), &preferences), '\0');
  const size_t size = LZ4F_compressFrame(bytes.data(), bytes.size(), content.data(),
                                         content.size(), &preferences);
  CHECK_EQ(LZ4F_isError(size), 0U);
  bytes.resize(size);
  return bytes;
}

// A chunk of snappy's frames.
inline std::string SnappyChunk(uint8_t kind, std::string_view body) {
  std::string chunk(1, static_cast<char>(kind));
  for (int i = 0; i < 3; ++i) chunk += static_cast<char>(body.size() >> (8 * i) & 0xFF);
  return chunk.append(body);
}

// Snappy in frames.
inline std::string SnappyFramed(std::string_view content) {
  std::string bytes = SnappyChunk(0xff, "sNaPpY");
  for (; !content.empty();
       content.remove_prefix(std::min<size_t>(65536, content.size()))) {
    const std::string_view part = content.substr(0, 65536);
    const uint32_t sum = MaskCrc32c(Crc32c(part));
    std::string body(sizeof(sum), '\0');
    std::memcpy(body.data(), &sum, sizeof(sum));
    std::string folded;
    snappy::Compress(part.data(), part.size(), &folded);
    bytes += SnappyChunk(0, body + folded);
  }
  return bytes;
}

}  // namespace millrace::codec
