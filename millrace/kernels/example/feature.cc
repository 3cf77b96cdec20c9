#include "millrace/kernels/example/feature.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/kernels/example/wire.h"

namespace millrace::kernels {
namespace {

constexpr uint32_t kEntryValueField = 2;
constexpr uint32_t kFeatureField = 1;  // Of a list of features.
constexpr uint32_t kValueField = 1;    // Of a list of values.

// Adds a piece of a feature to what came before.
absl::Status Merge(std::string_view piece, std::string_view record, Feature& feature) {
  WireReader reader(piece);
  WireField field;
  while (reader.Next(field)) {
    const bool list = field.type == WireType::kLength && field.number >= 1 &&
                      field.number <= static_cast<uint32_t>(FeatureKind::kInts);
    if (!list) continue;
    const auto kind = static_cast<FeatureKind>(field.number);
    if (kind != feature.kind) feature.lists.clear();
    feature.kind = kind;
    feature.lists.push_back(field.bytes);
  }
  return reader.Finish(record);
}

// Calls `add` with each value field of an entry.
template <typename Add>
absl::Status ForEachValue(std::string_view entry, std::string_view record, Add add) {
  WireReader reader(entry);
  WireField field;
  while (reader.Next(field)) {
    if (field.Holds(kEntryValueField, WireType::kLength)) TRY(add(field.bytes));
  }
  return reader.Finish(record);
}

float FloatOf(std::string_view bytes) {
  CHECK_EQ(bytes.size(), sizeof(float));
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof(float));
  return value;
}

}  // namespace

std::string_view Describe(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kTexts:
      return "texts";
    case FeatureKind::kFloats:
      return "floats";
    case FeatureKind::kInts:
      return "integers";
  }
  return "values";
}

absl::StatusOr<Feature> ReadFeature(std::string_view entry, std::string_view record) {
  Feature feature;
  TRY(ForEachValue(entry, record, [&](std::string_view piece) {
    return Merge(piece, record, feature);
  }));
  return feature;
}

absl::StatusOr<std::vector<Feature>> ReadFeatureList(std::string_view entry,
                                                     std::string_view record) {
  std::vector<Feature> features;
  const auto add = [&](std::string_view list) -> absl::Status {
    WireReader reader(list);
    WireField field;
    while (reader.Next(field)) {
      if (!field.Holds(kFeatureField, WireType::kLength)) continue;
      TRY(Merge(field.bytes, record, features.emplace_back()));
    }
    return reader.Finish(record);
  };
  TRY(ForEachValue(entry, record, add));
  return features;
}

absl::Status AppendValues(std::string_view list, std::string_view record,
                          std::vector<std::string_view>& values) {
  WireReader reader(list);
  WireField field;
  while (reader.Next(field)) {
    if (field.Holds(kValueField, WireType::kLength)) values.push_back(field.bytes);
  }
  return reader.Finish(record);
}

absl::Status AppendValues(std::string_view list, std::string_view record,
                          std::vector<float>& values) {
  WireReader reader(list);
  WireField field;
  while (reader.Next(field)) {
    if (field.Holds(kValueField, WireType::kFixed32)) {
      values.push_back(FloatOf(field.bytes));
    }
    if (!field.Holds(kValueField, WireType::kLength)) continue;
    const size_t count = field.bytes.size() / sizeof(float);
    if (field.bytes.size() % sizeof(float) != 0) {
      return DamagedAt("packed floats end inside of one", record, field.bytes);
    }
    const size_t before = values.size();
    values.resize(before + count);
    if (count > 0) {
      std::memcpy(values.data() + before, field.bytes.data(), field.bytes.size());
    }
  }
  return reader.Finish(record);
}

absl::Status AppendValues(std::string_view list, std::string_view record,
                          std::vector<int64_t>& values) {
  WireReader reader(list);
  WireField field;
  while (reader.Next(field)) {
    if (field.Holds(kValueField, WireType::kVarint)) {
      values.push_back(static_cast<int64_t>(field.varint));
    }
    if (!field.Holds(kValueField, WireType::kLength)) continue;
    std::string_view packed = field.bytes;
    while (!packed.empty()) {
      uint64_t value = 0;
      if (!TakeVarint(packed, value)) {
        return DamagedAt("a number does not end", record, packed);
      }
      values.push_back(static_cast<int64_t>(value));
    }
  }
  return reader.Finish(record);
}

}  // namespace millrace::kernels
