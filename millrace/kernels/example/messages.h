// Writes messages of tf.train.Example, as TensorFlow does and in other ways that mean
// the same: for tests, fuzzing and the data of benchmarks.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::kernels {

inline std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7U) {
    text += static_cast<char>((value & 0x7FU) | 0x80U);
  }
  return text + static_cast<char>(value);
}

// A field with a length.
inline std::string Field(uint32_t number, std::string_view content) {
  return Varint(number << 3U | 2U) + Varint(content.size()) + std::string(content);
}

inline std::string NumberField(uint32_t number, uint64_t value) {
  return Varint(number << 3U) + Varint(value);
}

inline std::string PackedFloats(const std::vector<float>& values) {
  std::string text(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(text.data(), values.data(), text.size());
  return text;
}

inline std::string PackedInts(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += Varint(static_cast<uint64_t>(value));
  return text;
}

inline std::string Texts(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += Field(1, value);
  return Field(1, list);
}

inline std::string Floats(const std::vector<float>& values) {
  return Field(2, values.empty() ? "" : Field(1, PackedFloats(values)));
}

inline std::string Ints(const std::vector<int64_t>& values) {
  return Field(3, values.empty() ? "" : Field(1, PackedInts(values)));
}

// A name and a feature, or a list of features.
using NamedFeature = std::pair<std::string, std::string>;

inline std::string MapOf(const std::vector<NamedFeature>& features) {
  std::string map;
  for (const auto& [name, feature] : features) {
    map += Field(1, Field(1, name) + Field(2, feature));
  }
  return map;
}

inline std::string ExampleOf(const std::vector<NamedFeature>& features) {
  return Field(1, MapOf(features));
}

inline std::string StepsOf(const std::vector<std::string>& features) {
  std::string list;
  for (const std::string& feature : features) list += Field(1, feature);
  return list;
}

inline std::string SequenceOf(const std::vector<NamedFeature>& context,
                              const std::vector<NamedFeature>& lists) {
  return Field(1, MapOf(context)) + Field(2, MapOf(lists));
}

}  // namespace millrace::kernels
