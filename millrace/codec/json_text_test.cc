#include "millrace/codec/json_text.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace::codec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::optional<std::string> Unescaped(std::string_view text) {
  std::string out(text.size(), '\0');
  const std::optional<size_t> size = UnescapeJson(text, out.data());
  if (!size) return std::nullopt;
  out.resize(*size);
  return out;
}

TEST(JsonTextTest, EscapesStandForCharacters) {
  EXPECT_EQ(Unescaped(""), "");
  EXPECT_EQ(Unescaped("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(Unescaped(R"(\"\\\/\b\f\n\r\t)"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(Unescaped(R"(a\u0041\u00e9\u20AC\ud83d\ude00z)"),
            "aA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
  EXPECT_EQ(Unescaped(R"(\u0000)"), std::string(1, '\0'));
}

TEST(JsonTextTest, WrongEscapesAreNone) {
  for (const char* text : {"\\", "\\x", "\\u12", "\\u12g4", "\\ud83d", "\\ud83d\\n",
                           "\\ud83d\\u0041", "\\ude00"}) {
    EXPECT_EQ(Unescaped(text), std::nullopt) << text;
  }
}

TEST(JsonTextTest, TellsNumbersFromOtherWords) {
  for (const char* text : {"0", "-0", "12", "-1.5", "1e3", "1E-3", "0.5e+10", "NaN",
                           "Infinity", "-Infinity"}) {
    EXPECT_TRUE(IsJsonNumber(text)) << text;
  }
  for (const char* text : {"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "0x1", "1 ",
                           "nan", "-NaN", "1_000"}) {
    EXPECT_FALSE(IsJsonNumber(text)) << text;
  }
}

TEST(JsonTextTest, TellsWhatAValueIs) {
  using Kind = JsonValue::Kind;
  EXPECT_EQ(JsonValueOf("\"a\""), (JsonValue{Kind::kString, "a"}));
  EXPECT_EQ(JsonValueOf("\"").kind, Kind::kWrong);
  EXPECT_EQ(JsonValueOf("[]").kind, Kind::kArray);
  EXPECT_EQ(JsonValueOf("[").kind, Kind::kWrong);
  EXPECT_EQ(JsonValueOf("{}").kind, Kind::kObject);
  EXPECT_EQ(JsonValueOf("truth").kind, Kind::kWrong);
  EXPECT_EQ(JsonValueOf("false").kind, Kind::kBool);
  EXPECT_EQ(JsonValueOf("null").kind, Kind::kNull);
  EXPECT_EQ(JsonValueOf("-1").kind, Kind::kNumber);
  EXPECT_EQ(JsonValueOf("x").kind, Kind::kWrong);
  EXPECT_EQ(JsonValueOf("").kind, Kind::kWrong);
}

struct Items {
  std::vector<std::string> texts;
  bool ok = false;
};

Items ItemsOf(std::string_view array) {
  Items all;
  JsonItems items(array);
  JsonValue item;
  while (items.Next(item)) all.texts.emplace_back(item.text);
  all.ok = items.ok();
  return all;
}

TEST(JsonTextTest, StepsThroughTheItemsOfAnArray) {
  EXPECT_THAT(ItemsOf("[]").texts, IsEmpty());
  EXPECT_TRUE(ItemsOf("[ ]").ok);
  EXPECT_THAT(ItemsOf("[1]").texts, ElementsAre("1"));
  const Items items = ItemsOf(R"([ 1 ,"a,\"]" , [2,[3]],{"k":[4]}, null ])");
  EXPECT_TRUE(items.ok);
  EXPECT_THAT(items.texts,
              ElementsAre("1", "a,\\\"]", "[2,[3]]", "{\"k\":[4]}", "null"));
}

TEST(JsonTextTest, KnowsWhatIsNoArray) {
  for (const char* text : {"[1,]", "[,]", "[1 2]", "[1]]", "[", "[1", "[1,", "[[]",
                           "[\"a]", "[]]", "[\"a\"b]"}) {
    EXPECT_FALSE(ItemsOf(text).ok) << text;
  }
}

TEST(JsonTextTest, FindsNoFlawInJson) {
  for (const char* text : {"1", " {} ", "[]", R"({"a":[{"b":null},"c\n",-1e5,true]})",
                           "[NaN]", "\"\xc3\xa9\""}) {
    EXPECT_EQ(FindJsonFlaw(text), std::nullopt) << text;
  }
  const std::string deep(100'000, '[');
  ASSERT_NE(FindJsonFlaw(deep), std::nullopt);
  EXPECT_EQ(FindJsonFlaw(deep)->what, "too many brackets inside each other");
}

}  // namespace
}  // namespace millrace::codec
