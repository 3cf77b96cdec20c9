#include "millrace/kernels/example/wire.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/text.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::kernels {
namespace {

using testing::HasSubstr;

// The fields of a message: "1=5 2=abc", or the error.
std::string Fields(std::string_view message) {
  WireReader reader(message);
  WireField field;
  std::string shown;
  while (reader.Next(field)) {
    shown += base::StrCat(shown.empty() ? "" : " ", field.number, "=");
    shown += field.type == WireType::kVarint ? base::StrCat(field.varint)
                                             : std::string(field.bytes);
    field.bytes = {};
  }
  const absl::Status finished = reader.Finish(message);
  return finished.ok() ? shown : std::string(finished.message());
}

TEST(WireTest, ReadsFieldsOfAllTypes) {
  EXPECT_EQ(Fields(""), "");
  EXPECT_EQ(Fields(NumberField(1, 5) + Field(2, "abc")), "1=5 2=abc");
  EXPECT_EQ(Fields("\x0D"
                   "1234"
                   "\x11"
                   "12345678"),
            "1=1234 2=12345678");
  EXPECT_EQ(Fields(NumberField(1, ~uint64_t{0})), "1=18446744073709551615");
  EXPECT_EQ(Fields(Field(536870911, "x")), "536870911=x");
}

TEST(WireTest, SkipsGroups) {
  const std::string inner = "\x1B" + NumberField(1, 300) + "\x1C";
  EXPECT_EQ(Fields("\x0B" + Field(7, "abc") + inner + "\x0C" + NumberField(4, 9)),
            "1= 4=9");
  EXPECT_THAT(Fields("\x0B"), HasSubstr("a group does not end at byte 1"));
  EXPECT_THAT(Fields("\x0B\x14"), HasSubstr("ends that did not begin at byte 1"));
  EXPECT_THAT(Fields("\x0C"), HasSubstr("ends that did not begin at byte 1"));
  EXPECT_THAT(Fields(std::string(200, '\x0B')), HasSubstr("too many groups"));
}

TEST(WireTest, TellsWhereAMessageIsDamaged) {
  EXPECT_THAT(Fields(NumberField(1, 5) + "\x12\x05"
                                         "abc"),
              HasSubstr("a length reaches beyond its message at byte 3"));
  EXPECT_THAT(Fields("\x12"), HasSubstr("a length does not end at byte 1"));
  EXPECT_THAT(Fields("\x08\xFF"), HasSubstr("a number does not end at byte 1"));
  EXPECT_THAT(Fields("\x08" + std::string(11, '\xFF')), HasSubstr("does not end"));
  EXPECT_THAT(Fields("\x0D"
                     "123"),
              HasSubstr("ends inside of a field at byte 1"));
  EXPECT_THAT(Fields("\xFF"), HasSubstr("a field does not end at byte 0"));
  EXPECT_THAT(Fields(std::string_view("\x00\x01", 2)),
              HasSubstr("there is no such field at byte 0"));
  EXPECT_THAT(Fields("\x0E\x01"), HasSubstr("no such type of field at byte 1"));
  EXPECT_THAT(Fields("\x12" + Varint(~uint64_t{0}) + "abc"),
              HasSubstr("reaches beyond"));
  EXPECT_THAT(Fields(Varint(uint64_t{1} << 35U | 2U) + "\x01x"),
              HasSubstr("there is no such field"));
}

TEST(WireTest, ReadsNumbersOfEverySize) {
  for (int bits = 0; bits < 64; ++bits) {
    const uint64_t number = uint64_t{1} << bits;
    for (const uint64_t value : {number, number - 1, number + 1}) {
      const std::string text = Varint(value) + "x";
      std::string_view rest = text;
      uint64_t read = 0;
      ASSERT_TRUE(TakeVarint(rest, read)) << value;
      EXPECT_EQ(read, value);
      EXPECT_EQ(rest, "x");
    }
  }
  // Longer than needed, as some writers make them.
  std::string_view padded("\x85\x80\x00", 3);
  uint64_t read = 0;
  EXPECT_TRUE(TakeVarint(padded, read));
  EXPECT_EQ(read, 5U);
}

TEST(WireTest, ComparesPrefixesOfEverySize) {
  const std::string text = "abcdefghijklmnopqrstuvwxyz";
  for (size_t size = 0; size <= text.size(); ++size) {
    EXPECT_TRUE(BeginsWith(text, text.substr(0, size)));
    EXPECT_FALSE(BeginsWith(text.substr(0, size), text + "!"));
    for (size_t at = 0; at < size; ++at) {
      std::string other = text.substr(0, size);
      other[at] = '!';
      EXPECT_FALSE(BeginsWith(text, other)) << other;
    }
  }
}

TEST(WireTest, TakesFieldsByTheirTag) {
  const std::string message = Field(1, "abc") + Field(2, "d");
  std::string_view rest = message;
  std::string_view content;
  EXPECT_FALSE(TakeLengthField(rest, LengthTag(2), content));
  EXPECT_TRUE(TakeLengthField(rest, LengthTag(1), content));
  EXPECT_EQ(content, "abc");
  EXPECT_TRUE(TakeOnlyField(rest, LengthTag(2)));
  EXPECT_EQ(rest, "d");
  std::string_view two = message;
  EXPECT_FALSE(TakeOnlyField(two, LengthTag(1)));
  std::string_view nothing;
  EXPECT_FALSE(TakeOnlyField(nothing, LengthTag(1)));
  EXPECT_FALSE(TakeLengthField(nothing, LengthTag(1), content));
}

}  // namespace
}  // namespace millrace::kernels
