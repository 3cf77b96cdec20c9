#include "millrace/kernels/example/entries.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/kernels/example/wire.h"

namespace millrace::kernels {
namespace {

constexpr uint32_t kEntryField = 1;
constexpr uint32_t kNameField = 1;
constexpr uint32_t kValueField = 2;

}  // namespace

std::string PlainEntryHeader(std::string_view name) {
  std::string header(1, static_cast<char>(LengthTag(kNameField)));
  uint64_t length = name.size();
  for (; length >= 0x80; length >>= 7U) {
    header += static_cast<char>((length & 0x7FU) | 0x80U);
  }
  header += static_cast<char>(length);
  header += name;
  return header + static_cast<char>(LengthTag(kValueField));
}

absl::StatusOr<std::string_view> NameOf(std::string_view entry,
                                        std::string_view record) {
  std::string_view name;
  WireReader reader(entry);
  WireField field;
  while (reader.Next(field)) {
    if (field.Holds(kNameField, WireType::kLength)) name = field.bytes;
  }
  TRY(reader.Finish(record));
  return name;
}

EntryFinder::EntryFinder(EntriesOf map, absl::Span<const std::string_view> names)
    : map_(map) {
  for (const std::string_view name : names) {
    const auto index = static_cast<int64_t>(indices_.size());
    CHECK(indices_.emplace(base::ToAbsl(name), index).second) << name;
  }
}

absl::StatusOr<int64_t> EntryFinder::IndexOf(std::string_view entry,
                                             std::string_view record, size_t n) {
  std::string_view rest = entry;
  std::string_view name;
  std::string_view value;
  const bool plain = TakeLengthField(rest, LengthTag(kNameField), name) &&
                     TakeLengthField(rest, LengthTag(kValueField), value) &&
                     rest.empty();
  if (!plain) name = TRY(NameOf(entry, record));
  const auto found = indices_.find(base::ToAbsl(name));
  if (n >= order_.size()) order_.resize(n + 1);
  order_[n].index = found == indices_.end() ? -1 : found->second;
  order_[n].header = {};
  if (plain) {
    const auto size = name.data() + name.size() + 1 - entry.data();
    order_[n].header = entry.substr(0, size);
  }
  return order_[n].index;
}

absl::Status EntryFinder::FindIn(std::string_view map, std::string_view record,
                                 absl::Span<EntryPlace> places) {
  const char* const begin = record.data();
  WireReader reader(map);
  WireField field;
  while (true) {
    if (!reader.NextIfTag(LengthTag(kEntryField), field.bytes)) {
      if (!reader.Next(field)) break;
      if (!field.Holds(kEntryField, WireType::kLength)) continue;
    }
    const size_t n = entries_++;
    std::string_view value = field.bytes;
    const bool as_before = n < order_.size() && !order_[n].header.empty() &&
                           TakePlainValue(value, order_[n].header);
    const int64_t index =
        as_before ? order_[n].index : TRY(IndexOf(field.bytes, record, n));
    if (index < 0) continue;
    const int64_t at = field.bytes.data() - begin;
    places[index] = {.begin = at, .end = at + std::ssize(field.bytes)};
  }
  return reader.Finish(record);
}

absl::Status EntryFinder::Find(std::string_view record, absl::Span<EntryPlace> places) {
  CHECK_EQ(places.size(), indices_.size());
  for (EntryPlace& place : places) place = {};
  entries_ = 0;
  WireReader reader(record);
  WireField field;
  while (reader.Next(field)) {
    if (!field.Holds(static_cast<uint32_t>(map_), WireType::kLength)) continue;
    TRY(FindIn(field.bytes, record, places));
  }
  return reader.Finish(record);
}

}  // namespace millrace::kernels
