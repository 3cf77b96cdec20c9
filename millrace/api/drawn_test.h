// Draws requests from a fuzzer's bytes, for targets that drive what hears them. The
// target makes a request that makes sense; then some members of it become others, found
// by reflection: numbers that matter, words of the target's, lists longer or shorter.
//
//   Drawn drawn(data, size, {"fixed", "any"});
//   api::OpenJob open = …;
//   drawn.Change(open);
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/mp11.hpp>

#include "millrace/api/json.h"
#include "millrace/base/hash.h"
#include "millrace/lanes/manifest.h"

namespace millrace::api {

class Drawn {
 public:
  Drawn(const uint8_t* data, size_t size, std::vector<std::string> words)
      : bytes_(data, size), words_(std::move(words)) {}

  // All bytes are used; what is drawn from then on is 0.
  bool empty() const { return bytes_.empty(); }

  // Draws one of 0, ..., count - 1. Requires: 1 <= count <= 256.
  int64_t Below(int64_t count) {
    if (bytes_.empty()) return 0;
    const int64_t drawn = bytes_.front() % count;
    bytes_ = bytes_.subspan(1);
    return drawn;
  }

  bool Half() { return Below(2) != 0; }

  // Draws a number: mostly a small one, else one that matters.
  int64_t Number() {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    constexpr auto kMatter = std::to_array<int64_t>(
        {-1, -2, 16, 4096, 1 << 16, 1 << 20, int64_t{1} << 32, int64_t{1} << 40,
         lanes::kRowsMax - 1, lanes::kRowsMax, lanes::kRowsMax + 1, kMost / 2,
         kMost - 1, kMost, kLeast, kLeast + 1});
    constexpr int64_t kSmall = 16;
    const int64_t drawn = Below(kSmall + std::ssize(kMatter));
    return drawn < kSmall ? drawn : kMatter[drawn - kSmall];
  }

  // Changes a few members, or none.
  template <Described T>
  void Change(T& value) {
    for (int64_t changes = Below(8) - 4; changes > 0; --changes) ChangeOne(value);
  }

 private:
  template <typename T>
  void ChangeOne(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = !value;
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(Number());
    } else if constexpr (std::same_as<T, std::string>) {
      if (!words_.empty()) value = words_[Below(std::ssize(words_))];
    } else if constexpr (std::same_as<T, base::Hash128>) {
      value.lo = static_cast<uint64_t>(Number());
    } else if constexpr (json_internal::kIsOptional<T>) {
      const bool gone = value && Half();
      if (gone) return value.reset();
      if (!value) value.emplace();
      ChangeOne(*value);
    } else if constexpr (json_internal::kIsList<T>) {
      ChangeList(value);
    } else {
      ChangeMember(value);
    }
  }

  // One more element, or one less, or another one.
  template <typename T>
  void ChangeList(std::vector<T>& list) {
    const int64_t kind = Below(4);
    if (kind == 0) list.emplace_back();
    if (list.empty()) return;
    const auto at = list.begin() + Below(std::min<int64_t>(std::ssize(list), 256));
    if (kind == 1) return list.push_back(T(*at));
    if (kind == 2) return static_cast<void>(list.erase(at));
    ChangeOne(*at);
  }

  template <Described T>
  void ChangeMember(T& value) {
    using Members = json_internal::Members<T>;
    const auto chosen =
        static_cast<size_t>(Below(boost::mp11::mp_size<Members>::value));
    boost::mp11::mp_with_index<boost::mp11::mp_size<Members>::value>(
        chosen, [&](auto place) {
          using Member = boost::mp11::mp_at_c<Members, place>;
          ChangeOne(value.*Member::pointer);
        });
  }

  std::span<const uint8_t> bytes_;
  std::vector<std::string> words_;
};

}  // namespace millrace::api
