#include "millrace/codec/json_text.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

TEST(JsonTextTest, UnescapesInPlace) {
  for (const auto& [text, meaning] : std::vector<std::pair<std::string, std::string>>{
           {R"(\u0041\u0042)", "AB"},
           {R"(x\ny\\z)", "x\ny\\z"},
           {R"(\ud800\udc00\udbff\udfff)", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
           {R"(\u07ff\u0800\ud7ff\ue000\uffff)",
            "\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"}}) {
    std::string room = text;
    const std::optional<size_t> size = UnescapeJson(room, room.data());
    ASSERT_TRUE(size.has_value()) << text;
    EXPECT_EQ(room.substr(0, *size), meaning) << text;
  }
}

TEST(JsonTextTest, OfAWrongPairNothingIsTaken) {
  for (const char* text : {"\\ud800\\ud800", "\\udc00\\ud800", "\\udbff\\ue000",
                           "\\udbff\\udbff", "\\ud800\\u", "\\ud800\\udc0"}) {
    EXPECT_EQ(Unescaped(text), std::nullopt) << text;
  }
}

TEST(JsonTextTest, TakesOffTheMarkOfTheEncodingOnce) {
  EXPECT_EQ(WithoutMark("\xef\xbb\xbf{}"), "{}");
  EXPECT_EQ(WithoutMark("\xef\xbb\xbf\xef\xbb\xbf"), "\xef\xbb\xbf");
  EXPECT_EQ(WithoutMark("\xef\xbb"), "\xef\xbb");
  EXPECT_EQ(WithoutMark(""), "");
}

TEST(JsonTextTest, TrimsTheSpacesThatJsonKnows) {
  EXPECT_EQ(TrimJson(" \t\r\n1 2\n "), "1 2");
  EXPECT_EQ(TrimJson("\v1\f"), "\v1\f");
  EXPECT_EQ(TrimJson(" \n"), "");
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

TEST(JsonTextTest, SaysWhereTheFirstFlawIs) {
  struct Case {
    std::string text;
    size_t at;
    std::string what;
  };

  const std::vector<Case> cases = {
      {"", 0, "its end, too early"},
      {"  ", 2, "its end, too early"},
      {"[1, 2", 5, "its end, too early"},
      {"[1 2]", 3, "neither a comma nor a closing bracket"},
      {"[1,]", 3, "no value"},
      {"{\"a\":1,}", 7, "no key in quotes"},
      {"{\"a\":1;}", 5, "no value"},
      {"{\"a\";1}", 4, "no colon behind a key"},
      {"{\"a\":1]", 6, "neither a comma nor a closing brace"},
      {"nul", 0, "no value"},
      {"1 2", 2, "something behind its end"},
      {"[\"a\tb\"]", 3, "a control character in a string"},
      {"[\"\\q\"]", 1, "a string with a wrong escape"},
      {"[\"a\xc3\"]", 3, "no valid UTF-8"},
      {std::string("[\0]", 3), 1, "no value"},
  };
  for (const Case& one : cases) {
    const std::optional<JsonFlaw> flaw = FindJsonFlaw(one.text);
    ASSERT_TRUE(flaw.has_value()) << one.text;
    EXPECT_EQ(flaw->what, one.what) << one.text;
    EXPECT_EQ(flaw->at, one.at) << one.text;
  }
}

TEST(JsonTextTest, BracketsMayLieInAThousandOthers) {
  const auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(FindJsonFlaw(nested(1000)), std::nullopt);
  EXPECT_EQ(FindJsonFlaw(nested(1001)), std::nullopt);
  EXPECT_NE(FindJsonFlaw(nested(1002)), std::nullopt);
}

}  // namespace
}  // namespace millrace::codec
