#include "millrace/codec/crc32c.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/hash.h"

namespace millrace::codec {
namespace {

std::string Noise(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(base::Mix64(i));
  return bytes;
}

// One bit at a time, straight from the definition.
uint32_t BitByBit(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
    }
  }
  return ~crc;
}

TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);    // RFC 3720, B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);  // RFC 3720, B.4
}

TEST(Crc32cTest, BothWaysAgreeAtEveryLengthAndAlignment) {
  const std::string noise = Noise(1200);
  for (size_t size = 0; size < 1100; ++size) {
    const std::string_view bytes = std::string_view(noise).substr(size % 17, size);
    const uint32_t wanted = BitByBit(bytes);
    ASSERT_EQ(Crc32c(bytes), wanted) << size;
    ASSERT_EQ(Crc32cByTable(bytes), wanted) << size;
  }
}

TEST(Crc32cTest, BothWaysAgreeWhereStretchesAreJoined) {
  const std::string noise = Noise(60'000);
  for (const size_t size : {3071U, 3072U, 3073U, 24'575U, 24'576U, 24'577U, 27'648U,
                            28'031U, 49'152U, 59'999U}) {
    const std::string_view bytes = std::string_view(noise).substr(1, size);
    EXPECT_EQ(Crc32c(bytes), Crc32cByTable(bytes)) << size;
  }
}

TEST(Crc32cTest, GoesOnFromWhatCameBefore) {
  const std::string noise = Noise(10'000);
  const std::string_view all = noise;
  for (const size_t cut : {0U, 1U, 7U, 384U, 5000U, 10'000U}) {
    EXPECT_EQ(Crc32c(all.substr(cut), Crc32c(all.substr(0, cut))), Crc32c(all));
    EXPECT_EQ(Crc32cByTable(all.substr(cut), Crc32cByTable(all.substr(0, cut))),
              Crc32c(all));
  }
}

TEST(Crc32cTest, CopiesWhatItSums) {
  const std::string noise = Noise(30'000);
  for (const size_t size : {0U, 1U, 7U, 8U, 383U, 384U, 4096U, 24'576U, 29'999U}) {
    const std::string_view bytes = std::string_view(noise).substr(1, size);
    std::vector<std::byte> copy(size + 1, std::byte{0x5a});
    EXPECT_EQ(CopyWithCrc32c(copy.data(), bytes), Crc32c(bytes)) << size;
    const auto* text = reinterpret_cast<const char*>(copy.data());
    EXPECT_EQ(std::string_view(text, size), bytes) << size;
    EXPECT_EQ(copy[size], std::byte{0x5a}) << "wrote past the end at " << size;
  }
}

TEST(Crc32cTest, MaskingIsTensorFlows) {
  EXPECT_EQ(UnmaskCrc32c(MaskCrc32c(0xe3069283)), 0xe3069283U);
  EXPECT_NE(MaskCrc32c(0xe3069283), 0xe3069283U);
  EXPECT_EQ(MaskCrc32c(0), 0xa282ead8U);
}

}  // namespace
}  // namespace millrace::codec
