#include "millrace/codec/taker.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::codec {

void PutNumber(uint64_t number, size_t bytes, std::string& out) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
}

void PutVarint(uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

void PutText(std::string_view text, std::string& out) {
  PutVarint(text.size(), out);
  out += text;
}

absl::Status Taker::Damaged(std::string_view how) const {
  return absl::DataLossError(base::StrCat(what_, " is damaged: ", how));
}

absl::StatusOr<std::string_view> Taker::Bytes(size_t size) {
  if (bytes_.size() < size) return Damaged("it is cut off");
  const std::string_view bytes = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return bytes;
}

absl::StatusOr<uint64_t> Taker::Number(size_t size) {
  const std::string_view bytes = TRY(Bytes(size));
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) {
    number |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return number;
}

absl::StatusOr<uint64_t> Taker::Varint() {
  uint64_t number = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const uint64_t byte = TRY(Number(1));
    number |= (byte & 0x7fU) << shift;
    if (byte < 0x80) return number;
  }
  return Damaged("a number has no end");
}

absl::StatusOr<int64_t> Taker::Count(int64_t most) {
  const uint64_t count = TRY(Varint());
  if (count <= static_cast<uint64_t>(most)) return static_cast<int64_t>(count);
  return Damaged(base::StrCat("it has an absurd number: ", count));
}

absl::StatusOr<std::string_view> Taker::Text() { return Bytes(TRY(Varint())); }

}  // namespace millrace::codec
