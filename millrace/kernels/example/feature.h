// The values of one feature: a list of texts, floats or integers inside of an entry of
// a tf.train.Example (entries.h). As protobuf does, a list may be written in pieces,
// packed or one by one, and of lists of different kinds the last counts. Views of the
// record; no thread rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/kernels/example/wire.h"

namespace millrace::kernels {

// The kinds of lists, by their fields.
enum class FeatureKind : uint32_t { kTexts = 1, kFloats = 2, kInts = 3 };

// "texts": for messages.
std::string_view Describe(FeatureKind kind);

struct Feature {
  FeatureKind kind = FeatureKind::kTexts;
  // The pieces of the list; none where the feature has no kind and so no values.
  absl::InlinedVector<std::string_view, 1> lists;
};

// Reads the one feature of an entry, whatever its form.
absl::StatusOr<Feature> ReadFeature(std::string_view entry, std::string_view record);

// Reads the features of an entry that has a list of them.
absl::StatusOr<std::vector<Feature>> ReadFeatureList(std::string_view entry,
                                                     std::string_view record);

// Adds the values of one piece of a list, of texts, floats or integers, to those found
// before.
absl::Status AppendValues(std::string_view list, std::string_view record,
                          std::vector<std::string_view>& values);
absl::Status AppendValues(std::string_view list, std::string_view record,
                          std::vector<float>& values);
absl::Status AppendValues(std::string_view list, std::string_view record,
                          std::vector<int64_t>& values);

// Leaves only what a plain feature holds, as all writers make them: one list of the
// given kind, written as one field to its end. That is packed numbers, or one text.
inline bool TakePlainContent(std::string_view& feature, FeatureKind kind) {
  constexpr uint32_t kValueField = 1;
  return TakeOnlyField(feature, LengthTag(static_cast<uint32_t>(kind))) &&
         TakeOnlyField(feature, LengthTag(kValueField));
}

// Reads packed numbers, if there are exactly `count`.
inline bool ReadPacked(std::string_view packed, int64_t count, float* values) {
  if (packed.size() != static_cast<size_t>(count) * sizeof(float)) return false;
  if (count > 0) std::memcpy(values, packed.data(), packed.size());
  return true;
}

inline bool ReadPacked(std::string_view packed, int64_t count, int64_t* values) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    if (!TakeVarint(packed, value)) return false;
    values[i] = static_cast<int64_t>(value);
  }
  return packed.empty();
}

}  // namespace millrace::kernels
