#include "millrace/kernels/example/wire.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::kernels {
namespace {

constexpr uint32_t kTypeBits = 3;
constexpr size_t kGroupsMax = 100;  // Inside one another, as protobuf allows.

}  // namespace

bool WireReader::Next(WireField& field) {
  if (rest_.empty() || !damage_.empty()) return false;
  std::string_view rest = rest_;
  uint64_t tag = 0;
  if (!TakeVarint(rest, tag)) return Damaged("a field does not end");
  const uint64_t number = tag >> kTypeBits;
  if (number == 0 || tag > std::numeric_limits<uint32_t>::max()) {
    return Damaged("there is no such field");
  }
  rest_ = rest;
  field.number = static_cast<uint32_t>(number);
  field.type = static_cast<WireType>(tag & 0x7U);
  return ReadContent(field);
}

bool WireReader::ReadContent(WireField& field) {
  switch (field.type) {
    case WireType::kVarint:
      return TakeVarint(rest_, field.varint) || Damaged("a number does not end");
    case WireType::kFixed64:
      return ReadBytes(sizeof(uint64_t), field);
    case WireType::kFixed32:
      return ReadBytes(sizeof(uint32_t), field);
    case WireType::kLength: {
      uint64_t size = 0;
      std::string_view rest = rest_;
      if (!TakeVarint(rest, size)) return Damaged("a length does not end");
      if (size > rest.size()) return Damaged("a length reaches beyond its message");
      rest_ = rest;
      return ReadBytes(size, field);
    }
    case WireType::kGroup:
      return SkipGroup(field.number);
    case WireType::kGroupEnd:
      return Damaged("a group ends that did not begin");
  }
  return Damaged("there is no such type of field");
}

bool WireReader::ReadBytes(uint64_t size, WireField& field) {
  if (size > rest_.size()) return Damaged("the message ends inside of a field");
  field.bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

// Groups may hold groups: the numbers of those that are open are kept.
bool WireReader::SkipGroup(uint32_t number) {
  absl::InlinedVector<uint32_t, 8> open = {number};
  while (!open.empty()) {
    std::string_view rest = rest_;
    uint64_t tag = 0;
    if (!TakeVarint(rest, tag)) return Damaged("a group does not end");
    const auto type = static_cast<WireType>(tag & 0x7U);
    const uint64_t inner = tag >> kTypeBits;
    if (inner == 0 || tag > std::numeric_limits<uint32_t>::max()) {
      return Damaged("there is no such field");
    }
    if (type == WireType::kGroupEnd) {
      if (inner != open.back()) return Damaged("a group ends that did not begin");
      open.pop_back();
    } else if (type == WireType::kGroup) {
      if (open.size() == kGroupsMax) return Damaged("too many groups in groups");
      open.push_back(static_cast<uint32_t>(inner));
    }
    rest_ = rest;
    WireField field = {.number = static_cast<uint32_t>(inner), .type = type};
    const bool group = type == WireType::kGroup || type == WireType::kGroupEnd;
    if (!group && !ReadContent(field)) return false;
  }
  return true;
}

bool WireReader::Damaged(std::string_view what) {
  damage_ = what;
  return false;
}

absl::Status WireReader::Finish(std::string_view record) const {
  if (damage_.empty()) return absl::OkStatus();
  return DamagedAt(damage_, record, rest_);
}

absl::Status DamagedAt(std::string_view what, std::string_view record,
                       std::string_view part) {
  CHECK(part.data() >= record.data());
  CHECK(part.data() <= record.data() + record.size());
  return absl::InvalidArgumentError(base::StrCat(
      "record is damaged: ", what, " at byte ", part.data() - record.data()));
}

}  // namespace millrace::kernels
