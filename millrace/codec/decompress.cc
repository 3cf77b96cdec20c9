#include "millrace/codec/decompress.h"

#include <lz4frame.h>
#include <snappy.h>
#include <zconf.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
#include "millrace/codec/crc32c.h"

namespace millrace::codec {
namespace {

// What all have in common: counting, the limit, and how errors are told.
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
    if (header_.size() < kHeaderBytesMax) {
      header_ += bytes.substr(0, std::min(in.pos, kHeaderBytesMax - header_.size()));
    }
    frame_given_ += out.pos;
    inside_ = result != 0;
    if (!inside_ && !EndsFrame()) {
      return Corrupt(static_cast<int64_t>(in.pos),
                     "a frame has another size than it says");
    }
    return Progress{static_cast<int64_t>(in.pos), static_cast<int64_t>(out.pos)};
  }

 private:
  static constexpr size_t kHeaderBytesMax = 18;  // As the format says.

  // Tells whether a frame that is over had as much content as its header says: the
  // library does not look where the last block is empty.
  bool EndsFrame() {
    const unsigned long long said =  // NOLINT(google-runtime-int): the library's.
        ZSTD_getFrameContentSize(header_.data(), header_.size());
    const bool right = said == ZSTD_CONTENTSIZE_UNKNOWN || said == frame_given_;
    header_.clear();
    frame_given_ = 0;
    return right;
  }

  ZSTD_DStream* const stream_ = ZSTD_createDStream();
  std::string header_;        // Of the frame, and what follows.
  uint64_t frame_given_ = 0;  // Content of the frame.
};

class Lz4 final : public Counted {
 public:
  explicit Lz4(const DecompressOptions& options) : Counted("lz4", options) {
    CHECK(LZ4F_isError(LZ4F_createDecompressionContext(&stream_, LZ4F_VERSION)) == 0);
  }

  Lz4(const Lz4&) = delete;
  Lz4& operator=(const Lz4&) = delete;

  ~Lz4() override { LZ4F_freeDecompressionContext(stream_); }

 protected:
  absl::StatusOr<Progress> Step(std::string_view bytes,
                                absl::Span<std::byte> room) override {
    if (!inside_ && bytes.empty()) return Progress{};
    size_t taken = bytes.size();
    size_t given = room.size();
    const size_t result =
        LZ4F_decompress(stream_, room.data(), &given, bytes.data(), &taken, nullptr);
    if (LZ4F_isError(result) != 0) {
      return Corrupt(static_cast<int64_t>(taken), LZ4F_getErrorName(result));
    }
    inside_ = result != 0;
    return Progress{static_cast<int64_t>(taken), static_cast<int64_t>(given)};
  }

 private:
  LZ4F_dctx* stream_ = nullptr;
};

// Snappy by itself has no stream; this is the one its authors describe: chunks of at
// most 64 KiB of content, each with a kind, a length and a checksum.
class Snappy final : public Counted {
 public:
  explicit Snappy(const DecompressOptions& options) : Counted("snappy", options) {}

 protected:
  absl::StatusOr<Progress> Step(std::string_view bytes,
                                absl::Span<std::byte> room) override {
    if (content_begin_ < content_.size()) return GiveContent(room);
    Progress done;
    if (to_skip_ > 0) {
      done.taken = std::min<int64_t>(to_skip_, std::ssize(bytes));
      to_skip_ -= done.taken;
    } else {
      done.taken = Collect(bytes);
      if (chunk_.size() == kHeadBytes) TRY(BeginChunk());
      if (chunk_.size() == wanted_ && wanted_ > kHeadBytes) TRY(EndChunk());
    }
    inside_ = to_skip_ > 0 || !chunk_.empty();
    return done;
  }

 private:
  static constexpr size_t kHeadBytes = 4;
  static constexpr size_t kSumBytes = 4;
  static constexpr size_t kContentMax = 65536;
  static constexpr std::string_view kIdentifier = "sNaPpY";

  enum Kind : uint8_t {
    kCompressed = 0,
    kPlain = 1,
    kFirstSkippable = 0x80,
    kBeginning = 0xff,
  };

  uint8_t kind() const { return static_cast<uint8_t>(chunk_[0]); }

  Progress GiveContent(absl::Span<std::byte> room) {
    const size_t size = std::min(content_.size() - content_begin_, room.size());
    std::memcpy(room.data(), content_.data() + content_begin_, size);
    content_begin_ += size;
    return {.taken = 0, .given = static_cast<int64_t>(size)};
  }

  int64_t Collect(std::string_view bytes) {
    const size_t size = std::min(wanted_ - chunk_.size(), bytes.size());
    chunk_ += bytes.substr(0, size);
    return static_cast<int64_t>(size);
  }

  // The head is there: what follows?
  absl::Status BeginChunk() {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(chunk_[at]); };
    const size_t size = byte(1) | byte(2) << 8U | byte(3) << 16U;
    if (!begun_ && kind() != kBeginning) return Corrupt(0, "it does not begin as such");
    begun_ = true;
    if (kind() == kBeginning && size != kIdentifier.size()) {
      return Corrupt(0, "a beginning of another length");
    }
    if (kind() >= kFirstSkippable && kind() != kBeginning) {
      to_skip_ = static_cast<int64_t>(size);
      chunk_.clear();
      return absl::OkStatus();
    }
    if (kind() > kPlain && kind() != kBeginning) {
      return Corrupt(0, "a chunk of unknown kind");
    }
    const size_t most = kSumBytes + snappy::MaxCompressedLength(kContentMax);
    if (kind() <= kPlain && (size < kSumBytes || size > most)) {
      return Corrupt(0, "a chunk of absurd length");
    }
    wanted_ = kHeadBytes + size;
    return absl::OkStatus();
  }

  absl::Status EndChunk() {
    const std::string_view body = std::string_view(chunk_).substr(kHeadBytes);
    if (kind() == kBeginning) {
      if (body != kIdentifier) return Corrupt(0, "it does not begin as such");
    } else {
      TRY(Unfold(body.substr(kSumBytes)));
      uint32_t sum = 0;
      std::memcpy(&sum, body.data(), sizeof(sum));
      if (MaskCrc32c(Crc32c(content_)) != sum) {
        return Corrupt(0, "content does not fit its checksum");
      }
    }
    chunk_.clear();
    wanted_ = kHeadBytes;
    return absl::OkStatus();
  }

  absl::Status Unfold(std::string_view body) {
    size_t size = body.size();
    const bool compressed = kind() == kCompressed;
    if (compressed && !snappy::GetUncompressedLength(body.data(), body.size(), &size)) {
      return Corrupt(0, "a chunk without its length");
    }
    if (size > kContentMax) return Corrupt(0, "a chunk of too much content");
    content_.resize(size);
    content_begin_ = 0;
    if (!compressed) {
      content_ = body;
    } else if (!snappy::RawUncompress(body.data(), body.size(), content_.data())) {
      return Corrupt(0, "a chunk that cannot be unfolded");
    }
    return absl::OkStatus();
  }

  std::string chunk_;           // What is there of it, from its head on.
  size_t wanted_ = kHeadBytes;  // Bytes of it.
  int64_t to_skip_ = 0;         // Of a chunk that means nothing here.
  std::string content_;         // Of the last chunk, ...
  size_t content_begin_ = 0;    // ... from here on to be given.
  bool begun_ = false;
};

}  // namespace

Compression CompressionOfName(std::string_view path) {
  const std::string lower =
      absl::AsciiStrToLower(base::ToAbsl(path.substr(path.find_last_of('/') + 1)));
  if (lower.ends_with(".gz") || lower.ends_with(".tgz")) return Compression::kGzip;
  if (lower.ends_with(".zst") || lower.ends_with(".tzst")) return Compression::kZstd;
  if (lower.ends_with(".lz4")) return Compression::kLz4;
  if (lower.ends_with(".sz")) return Compression::kSnappy;
  return Compression::kNone;
}

Compression CompressionOfContent(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return Compression::kGzip;
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return Compression::kZstd;
  if (bytes.starts_with("\x04\x22\x4d\x18")) return Compression::kLz4;
  if (bytes.starts_with(std::string_view("\xff\x06\x00\x00", 4))) {
    return Compression::kSnappy;
  }
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
    case Compression::kLz4:
      return std::make_unique<Lz4>(options);
    case Compression::kSnappy:
      return std::make_unique<Snappy>(options);
    case Compression::kNone:
      break;
  }
  CHECK(false) << "there is nothing to decompress";
  return nullptr;
}

}  // namespace millrace::codec
