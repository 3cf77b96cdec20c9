// Reads messages in the wire format of protocol buffers, field by field, without a
// schema and without a copy: what a field holds is a view of the message. Nothing is
// believed: a length that reaches beyond its message ends the reading. One thread;
// a few nanoseconds per field.
//
//   WireReader reader(message);
//   WireField field;
//   while (reader.Next(field)) ...
//   TRY(reader.Finish(record));  // What went wrong, and where in the record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"

namespace millrace::kernels {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,  // A text, a message, or packed numbers.
  kGroup = 3,   // Of old: skipped up to its end.
  kGroupEnd = 4,
  kFixed32 = 5,
};

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;          // Of kVarint.
  std::string_view bytes = {};  // Of kFixed64, kLength and kFixed32: the content.

  bool Holds(uint32_t wanted, WireType of_type) const {
    return number == wanted && type == of_type;
  }
};

// Takes a number of seven bits per byte, lowest first. False where it does not end
// within the text or within ten bytes; bits beyond 64 are dropped.
inline bool TakeVarint(std::string_view& text, uint64_t& value) {
  constexpr size_t kBytesMax = 10;
  const size_t size = text.size() < kBytesMax ? text.size() : kBytesMax;
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    number |= static_cast<uint64_t>(byte & 0x7FU) << (7 * i);
    if (byte >= 0x80) continue;
    value = number;
    text.remove_prefix(i + 1);
    return true;
  }
  return false;
}

// Takes a length and tells whether it is that of all the rest.
inline bool TakeLengthOfRest(std::string_view& text) {
  uint64_t length = 0;
  return TakeVarint(text, length) && length == text.size();
}

// Takes tag and length of a field that has the given tag and fills the message to its
// end, as most do.
inline bool TakeOnlyField(std::string_view& message, uint8_t tag) {
  if (message.empty() || static_cast<uint8_t>(message[0]) != tag) return false;
  message.remove_prefix(1);
  return TakeLengthOfRest(message);
}

// Takes a field that has the given tag and a length. False, with nothing taken, where
// the message goes on in any other way.
inline bool TakeLengthField(std::string_view& message, uint8_t tag,
                            std::string_view& content) {
  if (message.empty() || static_cast<uint8_t>(message[0]) != tag) return false;
  std::string_view rest = message.substr(1);
  uint64_t length = 0;
  if (!TakeVarint(rest, length) || length > rest.size()) return false;
  content = rest.substr(0, length);
  message = rest.substr(length);
  return true;
}

// Tells whether two places hold the same `size` bytes, by two looks that may overlap.
// Requires: size is one to two Words.
template <typename Word>
bool SameByWords(const char* a, const char* b, size_t size) {
  const auto differ = [&](size_t at) {
    Word left = 0;
    Word right = 0;
    std::memcpy(&left, a + at, sizeof(Word));
    std::memcpy(&right, b + at, sizeof(Word));
    return left ^ right;
  };
  return (differ(0) | differ(size - sizeof(Word))) == 0;
}

// Tells whether a text begins with a prefix; for short ones quicker than the library.
inline bool BeginsWith(std::string_view text, std::string_view prefix) {
  const size_t size = prefix.size();
  if (text.size() < size) return false;
  if (size < sizeof(uint32_t) || size > 2 * sizeof(uint64_t)) {
    return text.starts_with(prefix);
  }
  return size < sizeof(uint64_t)
             ? SameByWords<uint32_t>(text.data(), prefix.data(), size)
             : SameByWords<uint64_t>(text.data(), prefix.data(), size);
}

// The tag of a field with a length. Requires: number < 16.
constexpr uint8_t LengthTag(uint32_t number) {
  return static_cast<uint8_t>(number << 3U | static_cast<uint32_t>(WireType::kLength));
}

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  // Reads the next field. False at the end and where the message is damaged.
  bool Next(WireField& field);

  // The same where the next field is of this tag, with a length; else false, with
  // nothing read.
  bool NextIfTag(uint8_t tag, std::string_view& content) {
    return damage_.empty() && TakeLengthField(rest_, tag, content);
  }

  // Tells whether the message was damaged. The error says how and at which byte of the
  // record, of which the message is a part.
  absl::Status Finish(std::string_view record) const;

 private:
  bool ReadContent(WireField& field);
  bool ReadBytes(uint64_t size, WireField& field);
  bool SkipGroup(uint32_t number);
  bool Damaged(std::string_view what);

  std::string_view rest_;
  std::string_view damage_;  // What is wrong where `rest_` begins; empty if nothing.
};

// "damaged: <what> at byte 12", of a part of a record.
absl::Status DamagedAt(std::string_view what, std::string_view record,
                       std::string_view part);

}  // namespace millrace::kernels
