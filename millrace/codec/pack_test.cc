#include "millrace/codec/pack.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"

namespace millrace::codec {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;

std::string Words(size_t size) {
  std::string text;
  while (text.size() < size) text += "one word, and another; ";
  text.resize(size);
  return text;
}

std::string Noise(size_t size) {
  base::Generator generator(base::RandomKey(1, 0, 0), base::Hash128{});
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(generator.Next64());
  return bytes;
}

class PackTest : public testing::TestWithParam<Packing> {
 protected:
  std::optional<std::string> Packed(std::string_view piece, size_t room) {
    std::string packed(room, '\0');
    const std::optional<size_t> size = packer_.Pack(
        piece, absl::MakeSpan(reinterpret_cast<std::byte*>(packed.data()), room));
    if (!size) return std::nullopt;
    packed.resize(*size);
    return packed;
  }

  absl::StatusOr<std::string> Unpacked(std::string_view packed, size_t size) {
    std::string content(size, '\0');
    const absl::Status status = packer_.Unpack(
        packed, absl::MakeSpan(reinterpret_cast<std::byte*>(content.data()), size));
    if (!status.ok()) return status;
    return content;
  }

  Packer packer_ = Packer(GetParam());
};

TEST_P(PackTest, GivesBackWhatItGotPieceAfterPiece) {
  for (const size_t size : {1, 1000, 300'000}) {
    const std::string words = Words(size);
    const std::optional<std::string> packed = Packed(words, size + 1000);
    ASSERT_TRUE(packed.has_value());
    if (size > 1) {
      EXPECT_LT(packed->size(), size / 2);
    }
    EXPECT_THAT(Unpacked(*packed, size), base::IsOkAndHolds(words));
  }
}

TEST_P(PackTest, WhatDoesNotFitIsNotPacked) {
  EXPECT_EQ(Packed(Noise(10'000), 9'999), std::nullopt);
  EXPECT_TRUE(Packed(Words(10'000), 9'999).has_value());
}

TEST_P(PackTest, AnotherSizeIsAnError) {
  const std::string packed = *Packed(Words(1000), 1000);
  for (const size_t size : {0, 999, 1001}) {
    EXPECT_THAT(Unpacked(packed, size), StatusIs(StatusCode::kDataLoss)) << size;
  }
}

TEST_P(PackTest, DamageNeverReachesBeyondTheRoom) {
  const std::string packed = *Packed(Words(5000) + Noise(500), 6000);
  for (size_t i = 0; i < packed.size(); ++i) {
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    Unpacked(damaged, 5500).IgnoreError();  // An error or other bytes; no more.
    EXPECT_THAT(Unpacked(packed.substr(0, i), 5500), StatusIs(StatusCode::kDataLoss));
  }
}

INSTANTIATE_TEST_SUITE_P(All, PackTest, testing::Values(Packing::kLz4, Packing::kZstd),
                         [](const auto& info) {
                           return info.param == Packing::kLz4 ? "Lz4" : "Zstd";
                         });

}  // namespace
}  // namespace millrace::codec
