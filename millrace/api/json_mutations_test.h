// Mutations of JSON, for fuzz targets that read it: besides what the fuzzer does to any
// bytes, a number becomes one of those that matter, and a line comes again or goes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The fuzzer's own.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace millrace::api {

// Finds the runs of digits in a text, with their signs: where each begins and ends.
inline std::vector<std::pair<size_t, size_t>> NumbersIn(std::string_view text) {
  constexpr std::string_view kDigits = "-0123456789";
  std::vector<std::pair<size_t, size_t>> numbers;
  for (size_t at = text.find_first_of(kDigits); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    numbers.emplace_back(at, end);
    at = text.find_first_of(kDigits, end);
  }
  return numbers;
}

inline std::string WithAnotherNumber(std::string text, uint32_t draw) {
  constexpr auto kNumbers = std::to_array<std::string_view>(
      {"0", "1", "2", "3", "4", "7", "8", "16", "100", "65536", "-1", "-2",
       "1099511627776", "4611686018427387903", "9223372036854775807",
       "9223372036854775806", "-9223372036854775808"});
  const auto numbers = NumbersIn(text);
  if (numbers.empty()) return text;
  const auto [begin, end] = numbers[draw / 64 % numbers.size()];
  return text.replace(begin, end - begin, kNumbers[draw % 64 % kNumbers.size()]);
}

// Takes a line of a text, and puts it elsewhere too, or takes it out.
inline std::string WithAnotherLine(std::string_view text, uint32_t draw) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (lines.empty()) return "";
  const auto one = lines.begin() + draw / 8 % lines.size();
  const std::string_view line = *one;
  if (draw % 8 == 0) {
    lines.erase(one);
  } else {
    lines.insert(lines.begin() + draw / 1024 % lines.size(), line);
  }
  std::string all;
  for (const std::string_view each : lines) all += each;
  return all;
}

// What LLVMFuzzerCustomMutator does.
inline size_t MutateJson(uint8_t* data, size_t size, size_t max_size, uint32_t seed) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const uint32_t draw = seed / 4;
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string changed = seed % 4 == 1
                                  ? WithAnotherLine(text, draw)
                                  : WithAnotherNumber(std::string(text), draw);
  if (changed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  if (!changed.empty()) std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // namespace millrace::api
