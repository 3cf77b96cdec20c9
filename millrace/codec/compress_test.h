// For tests: compresses, so that there is something to decompress.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/base/check.h"

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

}  // namespace millrace::codec
