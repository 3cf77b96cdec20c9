// Payloads for tests: frames with known bytes, of any size that frames have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/core/buffer.h"
#include "millrace/core/large_shared_allocator.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"

namespace millrace::transport {

// Where payloads of tests are: large ones in memory that can be shared.
inline core::Pool& PayloadPool() {
  static core::Pool& pool = *new core::Pool(  // Never destroyed.
      core::MakeLargeSharedAllocator({.bytes_least = 4096}), {});
  return pool;
}

// Bytes that look like none others, the same for the same seed.
inline core::Buffer RandomBuffer(int64_t bytes, uint64_t seed) {
  base::Generator generator(base::RandomKey(seed, 0, 0), base::Hash128{});
  core::Buffer buffer = PayloadPool().Allocate(bytes).value();
  for (int64_t i = 0; i < bytes; ++i) {
    buffer.mutable_data()[i] = static_cast<std::byte>(generator.Next64());
  }
  return buffer;
}

// A frame of several pieces, of about so many bytes; a multiple of 64.
inline frames::Frame RandomFrame(int64_t bytes, uint64_t seed) {
  const int64_t first = bytes / 3;
  std::vector<core::Buffer> body = {RandomBuffer(first, seed),
                                    RandomBuffer(bytes - first, seed + 1)};
  return frames::Frame(std::string(frames::kFrameAlignment, 'h'), std::move(body), 1);
}

// The same of words, which can be compressed.
inline frames::Frame WordyFrame(int64_t bytes) {
  std::vector<core::Buffer> body;
  for (const int64_t size : {bytes / 3, bytes - bytes / 3}) {
    core::Buffer buffer = core::HeapPool().Allocate(size).value();
    for (int64_t i = 0; i < size; ++i) {
      buffer.mutable_data()[i] = static_cast<std::byte>("some words; "[i % 12]);
    }
    body.push_back(std::move(buffer));
  }
  return frames::Frame(std::string(frames::kFrameAlignment, 'h'), std::move(body), 1);
}

inline std::string BytesOf(const frames::Frame& frame) {
  std::string bytes;
  (void)frame.ForEachPiece([&](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  return bytes;
}

// What was received, as it would be in one piece.
inline std::string BytesOf(const Received& received) {
  std::string bytes(received.payload.text());
  for (const core::Buffer& part : received.parts) {
    bytes += part.text();
    bytes.resize(frames::PaddedBytes(std::ssize(bytes)));
  }
  return bytes;
}

}  // namespace millrace::transport
