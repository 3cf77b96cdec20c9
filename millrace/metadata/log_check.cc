#include "millrace/metadata/log_check.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/metadata/sqlite.h"

namespace millrace::metadata {
namespace {

// As SQLite's description of its file format has it. Numbers are of 32 bits, the
// highest byte first.
constexpr size_t kHeaderBytes = 32;
constexpr size_t kPageSizeAt = 8;
constexpr size_t kHeaderSaltAt = 16;
constexpr size_t kHeaderSumAt = 24;
constexpr uint32_t kMark = 0x377f0682;  // One more: sums are of words in big-endian.

constexpr size_t kFrameHeaderBytes = 24;
constexpr size_t kCommitAt = 4;  // Not 0: a transaction ends with this frame.
constexpr size_t kFrameSaltAt = 8;
constexpr size_t kFrameSumAt = 16;
constexpr size_t kSummedFrameBytes = 8;

constexpr size_t kPairBytes = 8;  // Of salts, and of sums.

uint32_t NumberAt(std::string_view bytes, size_t place, bool big_endian = true) {
  uint32_t number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) {
    const size_t shift = 8 * (big_endian ? sizeof(number) - 1 - i : i);
    number |= uint32_t{static_cast<uint8_t>(bytes[place + i])} << shift;
  }
  return number;
}

// The running sum of all that was read.
class Sum {
 public:
  explicit Sum(bool big_endian) : big_endian_(big_endian) {}

  void Add(std::string_view bytes) {
    for (size_t i = 0; i + kPairBytes <= bytes.size(); i += kPairBytes) {
      first_ += NumberAt(bytes, i, big_endian_) + second_;
      second_ += NumberAt(bytes, i + sizeof(uint32_t), big_endian_) + first_;
    }
  }

  bool StandsAt(std::string_view bytes, size_t place) const {
    return NumberAt(bytes, place) == first_ &&
           NumberAt(bytes, place + sizeof(uint32_t)) == second_;
  }

 private:
  const bool big_endian_;
  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

// Reads as many bytes; says whether there were.
bool Take(std::ifstream& from, std::string& to) {
  return from.read(to.data(), static_cast<std::streamsize>(to.size())).good();
}

bool IsHeader(std::string_view header, const Sum& sum) {
  constexpr uint32_t kPageBytesMax = 65536;
  const uint32_t mark = NumberAt(header, 0);
  return (mark == kMark || mark == kMark + 1) && sum.StandsAt(header, kHeaderSumAt) &&
         NumberAt(header, kPageSizeAt) <= kPageBytesMax;
}

struct Frames {
  int64_t whole = 0;  // Up to the first wrong one.
  int64_t lost = 0;   // Transactions that end there or behind it.
};

Frames ReadFrames(std::ifstream& in, std::string_view header, Sum sum) {
  const std::string_view salt = header.substr(kHeaderSaltAt, kPairBytes);
  std::string frame(kFrameHeaderBytes + NumberAt(header, kPageSizeAt), '\0');
  Frames frames;
  bool is_whole = true;
  while (Take(in, frame)) {
    const std::string_view bytes = frame;
    // Frames of an older log that this one is written over have another salt.
    const bool is_ours = bytes.substr(kFrameSaltAt, kPairBytes) == salt;
    sum.Add(bytes.substr(0, kSummedFrameBytes));
    sum.Add(bytes.substr(kFrameHeaderBytes));
    is_whole = is_whole && is_ours && sum.StandsAt(bytes, kFrameSumAt);
    if (is_whole) ++frames.whole;
    if (!is_whole && is_ours && NumberAt(bytes, kCommitAt) != 0) ++frames.lost;
  }
  return frames;
}

}  // namespace

absl::Status CheckLog(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string header(kHeaderBytes, '\0');
  if (!Take(in, header)) return absl::OkStatus();  // Nothing was written yet.
  Sum sum(NumberAt(header, 0) == kMark + 1);
  sum.Add(std::string_view(header).substr(0, kHeaderSumAt));
  if (!IsHeader(header, sum)) return Damaged(base::StrCat(path, ": the header"));
  const Frames frames = ReadFrames(in, header, sum);
  if (frames.lost < 2) return absl::OkStatus();
  return Damaged(base::StrCat(path, ": frame ", frames.whole + 1, ", with ",
                              frames.lost, " transactions behind it"));
}

}  // namespace millrace::metadata
