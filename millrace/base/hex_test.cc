#include "millrace/base/hex.h"

#include <array>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace::base {
namespace {

TEST(HexTest, PrintsTwoDigitsForEachByte) {
  EXPECT_EQ(ToHex(std::vector<uint8_t>{0x00, 0x0f, 0xa5, 0xff}), "000fa5ff");
  EXPECT_EQ(ToHex(std::vector<uint8_t>{}), "");
}

TEST(HexTest, ReadsBackEveryByte) {
  for (int value = 0; value < 256; ++value) {
    const std::array<uint8_t, 1> written = {static_cast<uint8_t>(value)};
    std::array<uint8_t, 1> read = {};
    EXPECT_TRUE(ParseHex(ToHex(written), read));
    EXPECT_EQ(read, written);
  }
}

TEST(HexTest, RefusesOtherLengthsAndLetters) {
  std::array<uint8_t, 2> bytes = {};
  for (const char* text : {"", "0", "000", "00000", "000g", "ABCD", "0x00", " 000"}) {
    EXPECT_FALSE(ParseHex(text, bytes)) << text;
  }
  EXPECT_TRUE(ParseHex("abcd", bytes));
}

}  // namespace
}  // namespace millrace::base
