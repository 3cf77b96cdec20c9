#include "millrace/codec/number_text.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/text.h"

namespace millrace::codec {
namespace {

template <typename T>
std::string Integer(std::string_view text) {
  T number = 0;
  switch (ReadInteger(text, &number)) {
    case NumberRead::kDone:
      return base::StrCat(number);
    case NumberRead::kNoNumber:
      return "none";
    case NumberRead::kOutOfRange:
      return "range";
  }
  return "";
}

TEST(NumberTextTest, ReadsWholeNumbers) {
  for (const char* text : {"0", "7", "-7", "123456789012345678", "-123456789012345678",
                           "9223372036854775807", "-9223372036854775808"}) {
    EXPECT_EQ(Integer<int64_t>(text), text);
  }
  EXPECT_EQ(Integer<int64_t>("007"), "7");
  EXPECT_EQ(Integer<int64_t>("0000000000000000000000001"), "1");
  EXPECT_EQ(Integer<uint64_t>("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(Integer<uint64_t>("-0"), "0");
}

TEST(NumberTextTest, KnowsWhatIsNoWholeNumber) {
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "a", "--1",
                           "1-", "one", "12345678901234567890a"}) {
    EXPECT_EQ(Integer<int64_t>(text), "none") << text;
    EXPECT_EQ(Integer<uint64_t>(text), "none") << text;
  }
  EXPECT_EQ(Integer<int64_t>("9223372036854775808"), "range");
  EXPECT_EQ(Integer<int64_t>("-9223372036854775809"), "range");
  EXPECT_EQ(Integer<uint64_t>("18446744073709551616"), "range");
  EXPECT_EQ(Integer<uint64_t>("-1"), "range");
}

TEST(NumberTextTest, LooksAtEveryCharacterOfAnyLength) {
  for (size_t size = 1; size <= 18; ++size) {
    const std::string text = std::string("918273645546372819").substr(0, size);
    EXPECT_EQ(Integer<int64_t>(text), text);
    EXPECT_EQ(Integer<int64_t>("-" + text), "-" + text);
    for (size_t place = 0; place < size; ++place) {
      for (int c = 0; c < 256; ++c) {
        std::string other = text;
        other[place] = static_cast<char>(c);
        const bool number = (c >= '0' && c <= '9') || (c == '-' && place == 0);
        if (size == 1 && c == '-') continue;
        EXPECT_EQ(Integer<int64_t>(other) != "none", number) << place << " " << c;
      }
    }
  }
}

TEST(NumberTextTest, ReadsTheNearestNumber) {
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t draw = base::Mix64(i);
    std::string text = base::StrCat(draw % 2 == 0 ? "-" : "", draw >> (i % 60));
    if (i % 3 > 0) text.insert(text.size() - i % text.size(), ".");
    if (text.ends_with('.') || text == "-") text += "0";
    double expected = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), expected);
    if (error != std::errc() || end != text.data() + text.size()) continue;
    double number = 0;
    ASSERT_EQ(ReadFloat(text, &number), NumberRead::kDone) << text;
    ASSERT_EQ(number, expected) << text;
  }
}

TEST(NumberTextTest, ReadsFloatsInEveryForm) {
  double number = 0;
  const auto read = [&](std::string_view text) { return ReadFloat(text, &number); };
  EXPECT_EQ(read("1e3"), NumberRead::kDone);
  EXPECT_EQ(number, 1000);
  EXPECT_EQ(read("-0"), NumberRead::kDone);
  EXPECT_TRUE(std::signbit(number));
  EXPECT_EQ(read("1e-999"), NumberRead::kDone);
  EXPECT_EQ(number, 0);
  EXPECT_EQ(read("NaN"), NumberRead::kDone);
  EXPECT_TRUE(std::isnan(number));
  EXPECT_EQ(read("-Infinity"), NumberRead::kDone);
  EXPECT_EQ(number, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read("1e999"), NumberRead::kOutOfRange);
  for (const char* text : {"", "-", ".", "-.", "1..2", "1.2.3", "1e", "+1", " 1", "1 ",
                           "0x1p3", "one", "1,5"}) {
    EXPECT_EQ(read(text), NumberRead::kNoNumber) << text;
  }
}

}  // namespace
}  // namespace millrace::codec
