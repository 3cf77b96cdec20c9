#include "millrace/codec/decompress.h"

#include <zconf.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::codec {
namespace {

// What both have in common: counting, the limit, and how errors are told.
class Counted : public Decompressor {
 public:
  Counted(std::string_view name, const DecompressOptions& options)
      : name_(name), options_(options) {}

  absl::StatusOr<Progress> Run(std::string_view bytes,
                               absl::Span<std::byte> room) override {
    TRY(failed_);
    Progress done;
    while (done.given < std::ssize(room)) {
      const absl::StatusOr<Progress> step =
          Step(bytes.substr(done.taken), room.subspan(done.given));
      failed_ = step.status();
      TRY(failed_);
      done.taken += step->taken;
      done.given += step->given;
      taken_ += step->taken;
      given_ += step->given;
      failed_ = CheckLimit();
      TRY(failed_);
      if (step->taken == 0 && step->given == 0) break;
    }
    return done;
  }

  absl::Status Finish() const override {
    TRY(failed_);
    if (!inside_ && taken_ > 0) return absl::OkStatus();
    return absl::DataLossError(base::StrCat(
        name_, " data ends too early, at byte ", taken_,
        ": the file was not written to its end or not copied whole; make it anew"));
  }

 protected:
  // One call of the library.
  virtual absl::StatusOr<Progress> Step(std::string_view bytes,
                                        absl::Span<std::byte> room) = 0;

  absl::Status Corrupt(int64_t taken, std::string_view why) const {
    return absl::DataLossError(
        base::StrCat(name_, " data is corrupt near byte ", taken_ + taken, ": ", why));
  }

  bool inside_ = false;  // In the middle of a member or frame.

 private:
  absl::Status CheckLimit() const {
    if (given_ <= options_.content_bytes_max) return absl::OkStatus();
    return absl::DataLossError(
        base::StrCat(name_, " data unfolds to more than allowed: over ",
                     options_.content_bytes_max, " bytes at byte ", taken_, " of it"));
  }

  const std::string_view name_;
  const DecompressOptions options_;
  absl::Status failed_;
  int64_t taken_ = 0;
  int64_t given_ = 0;
};

// zlib counts in 32 bits.
uInt Capped(size_t size) {
  return static_cast<uInt>(std::min<size_t>(size, std::numeric_limits<uInt>::max()));
}

class Gzip final : public Counted {
 public:
  explicit Gzip(const DecompressOptions& options) : Counted("gzip", options) {
    constexpr int kGzipHeader = 16;  // Of zlib: to be added to the window's size.
    CHECK_EQ(inflateInit2(&stream_, kGzipHeader + MAX_WBITS), Z_OK);
  }

  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  ~Gzip() override { inflateEnd(&stream_); }

 protected:
  absl::StatusOr<Progress> Step(std::string_view bytes,
                                absl::Span<std::byte> room) override {
    if (!inside_) {
      const int64_t padding = Padding(bytes);
      if (padding > 0 || bytes.empty()) return Progress{padding, 0};
      CHECK_EQ(inflateReset(&stream_), Z_OK);
    }
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = Capped(bytes.size());
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = Capped(room.size());
    const uInt before_in = stream_.avail_in;
    const uInt before_out = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    const Progress done = {before_in - stream_.avail_in,
                           before_out - stream_.avail_out};
    if (result == Z_STREAM_END) {
      inside_ = false;
      members_ = true;
      return done;
    }
    inside_ = inside_ || done.taken > 0;
    if (result == Z_OK || result == Z_BUF_ERROR) return done;
    return Corrupt(done.taken, stream_.msg != nullptr ? stream_.msg : zError(result));
  }

 private:
  // Zeros behind a member fill up a tape's or a disk's block; gzip passes over them.
  int64_t Padding(std::string_view bytes) const {
    if (!members_) return 0;
    const size_t end = bytes.find_first_not_of('\0');
    return static_cast<int64_t>(std::min(end, bytes.size()));
  }

  z_stream stream_ = {};
  bool members_ = false;  // At least one is over.
};

class Zstd final : public Counted {
 public:
  explicit Zstd(const DecompressOptions& options) : Counted("zstd", options) {
    CHECK(stream_ != nullptr);
  }

  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  ~Zstd() override { ZSTD_freeDStream(stream_); }

 protected:
  absl::StatusOr<Progress> Step(std::string_view bytes,
                                absl::Span<std::byte> room) override {
    if (!inside_ && bytes.empty()) return Progress{};
    ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer out = {room.data(), room.size(), 0};
    const size_t result = ZSTD_decompressStream(stream_, &out, &in);
    if (ZSTD_isError(result) != 0) {
      return Corrupt(static_cast<int64_t>(in.pos), ZSTD_getErrorName(result));
    }
    inside_ = result != 0;
    return Progress{static_cast<int64_t>(in.pos), static_cast<int64_t>(out.pos)};
  }

 private:
  ZSTD_DStream* const stream_ = ZSTD_createDStream();
};

}  // namespace

Compression CompressionOfName(std::string_view path) {
  const std::string lower =
      absl::AsciiStrToLower(base::ToAbsl(path.substr(path.find_last_of('/') + 1)));
  if (lower.ends_with(".gz") || lower.ends_with(".tgz")) return Compression::kGzip;
  if (lower.ends_with(".zst") || lower.ends_with(".tzst")) return Compression::kZstd;
  return Compression::kNone;
}

Compression CompressionOfContent(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return Compression::kGzip;
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return Compression::kZstd;
  // A frame to be passed over, with which zstd data may begin.
  const bool skippable = bytes.size() >= 4 && bytes.substr(1, 3) == "\x2a\x4d\x18" &&
                         (static_cast<uint8_t>(bytes[0]) & 0xf0) == 0x50;
  return skippable ? Compression::kZstd : Compression::kNone;
}

std::unique_ptr<Decompressor> MakeDecompressor(Compression compression,
                                               const DecompressOptions& options) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<Gzip>(options);
    case Compression::kZstd:
      return std::make_unique<Zstd>(options);
    case Compression::kNone:
      break;
  }
  CHECK(false) << "there is nothing to decompress";
  return nullptr;
}

}  // namespace millrace::codec
