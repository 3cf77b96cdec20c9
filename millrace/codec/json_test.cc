#include "millrace/codec/json.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/json_path.h"
#include "millrace/codec/json_text.h"

namespace millrace::codec {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// The values' texts, with what they are: "a number 1".
absl::StatusOr<std::vector<std::string>> Pick(const std::vector<std::string>& paths,
                                              std::string_view text) {
  JsonPicker picker(paths);
  std::vector<JsonValue> values(paths.size());
  // What lies behind is not part of it, whatever it is.
  const std::string padded = base::StrCat(text, std::string(kJsonSlack, '}'));
  TRY(picker.Pick(std::string_view(padded).substr(0, text.size()),
                  absl::MakeSpan(values)));
  std::vector<std::string> found;
  found.reserve(values.size());
  for (const JsonValue& value : values) {
    found.push_back(base::StrCat(Name(value.kind), " ", value.text));
  }
  return found;
}

TEST(JsonTest, FindsValuesAsTheyStandInAnyOrder) {
  constexpr std::string_view kText =
      R"( {"b": "x\n" , "a":-1.5e3, "c":[1, "]"] ,"d" : {"k":"}"}, "e":true)"
      R"(,"f":null } )";
  EXPECT_THAT(Pick({"a", "b", "c", "d", "e", "f", "g"}, kText),
              IsOkAndHolds(ElementsAre("a number -1.5e3", "a string x\\n",
                                       "an array [1, \"]\"]", "an object {\"k\":\"}\"}",
                                       "a bool true", "null null", "nothing ")));
}

TEST(JsonTest, PathsLeadIntoObjectsOrAreKeysWithDots) {
  EXPECT_THAT(Pick({"a.b", "a.c.d"}, R"({"a": {"c": {"d": 1}, "b": 2}})"),
              IsOkAndHolds(ElementsAre("a number 2", "a number 1")));
  EXPECT_THAT(Pick({"a.b", "a.c.d"}, R"({"a.b": 2, "a": {"c.d": 1}})"),
              IsOkAndHolds(ElementsAre("a number 2", "a number 1")));
  EXPECT_THAT(Pick({"a.b"}, R"({"a": null})"), IsOkAndHolds(ElementsAre("nothing ")));
  EXPECT_THAT(Pick({"a.b"}, R"({"a": [1]})"),
              StatusIs(kDataLoss, HasSubstr("key a is an array, no object")));
}

TEST(JsonTest, KeysMayHaveEscapes) {
  EXPECT_THAT(Pick({"\xc3\xa9", "q\"", "b\\"}, R"({"\u00e9":1,"q\"":2,"b\\":3})"),
              IsOkAndHolds(ElementsAre("a number 1", "a number 2", "a number 3")));
  EXPECT_THAT(Pick({"a\":1,\"b"}, R"({"a":1,"b":2})"),
              IsOkAndHolds(ElementsAre("nothing ")));
}

TEST(JsonTest, KeysMayBeLongerThanWhatLiesBehindTheText) {
  const std::string key(3 * kJsonSlack, 'k');
  EXPECT_THAT(Pick({key}, base::StrCat("{\"", key, "\":1}")),
              IsOkAndHolds(ElementsAre("a number 1")));
  EXPECT_THAT(Pick({key}, R"({"k":1})"), IsOkAndHolds(ElementsAre("nothing ")));
}

TEST(JsonTest, TwoValuesForOneKeyAreAnError) {
  EXPECT_THAT(Pick({"a"}, R"({"a":1,"a":2})"),
              StatusIs(kDataLoss, HasSubstr("two values for the key a")));
  EXPECT_THAT(Pick({"a"}, R"({"b":1,"a":2,"b":3})"),
              IsOkAndHolds(ElementsAre("a number 2")));
}

TEST(JsonTest, SaysWhereATextIsNoJson) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "its end, too early at its byte 0"},
      {"[1]", "no JSON object, but an array"},
      {"12", "no JSON object, but a number"},
      {R"({"a":1)", "its end, too early at its byte 6"},
      {R"({"a":1}})", "something behind its end at its byte 7"},
      {R"({"a":1} {"a":2})", "something behind its end at its byte 8"},
      {R"({"a" 1})", "no colon behind a key at its byte 5"},
      {R"({"a":1 "b":2})", "neither a comma nor a closing brace at its byte 7"},
      {R"({"a":"x)", "its end, too early"},
      {R"({"a":tru})", "no value at its byte 5"},
      {R"({a:1})", "no key in quotes at its byte 1"},
      {"{\"a\":\"\n\"}", "a control character in a string at its byte 6"},
      {"{\"a\":\"\xff\"}", "no valid UTF-8 at its byte 6"},
  };
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(Pick({"a"}, text), StatusIs(kDataLoss, HasSubstr(why))) << text;
  }
}

TEST(JsonTest, CutOffAnywhereItIsAnError) {
  constexpr std::string_view kText =
      R"({"a":{"x":[1,2,{"y":"z"}]},"b":"\u00e9","c":-1.5,"d":true})";
  for (size_t size = 0; size < kText.size(); ++size) {
    EXPECT_THAT(Pick({"a", "b", "c", "d"}, kText.substr(0, size)), StatusIs(kDataLoss))
        << size;
  }
}

TEST(JsonTest, ChangedBitsAreSurvived) {
  constexpr std::string_view kText =
      R"({"a":{"x":[1,2,{"y":"z"}]},"b":{"c":"\u00e9 \" "},"c":-1.5,"d":[true,null]})";
  int good = 0;
  for (size_t bit = 0; bit < 8 * kText.size(); ++bit) {
    std::string text(kText);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    const auto picked = Pick({"a.x", "b.c", "d"}, text);
    good += picked.ok() ? 1 : 0;
    if (!picked.ok()) {
      EXPECT_THAT(picked, StatusIs(kDataLoss)) << text;
    }
  }
  EXPECT_GT(good, 100) << "names, digits and letters that nobody asked for";
}

TEST(JsonTest, ShowsEveryMember) {
  JsonPicker picker({});
  std::vector<std::pair<std::string, std::string>> members;
  const std::string text = R"({"b": 1, "\u0061": {"c": 2}, "": []})";
  const std::string padded = text + std::string(kJsonSlack, '\0');
  ASSERT_TRUE(picker
                  .ForEachMember(std::string_view(padded).substr(0, text.size()),
                                 [&](std::string_view key, const JsonValue& value) {
                                   members.emplace_back(key, value.text);
                                 })
                  .ok());
  EXPECT_THAT(members,
              ElementsAre(Pair("b", "1"), Pair("a", "{\"c\": 2}"), Pair("", "[]")));
}

// What a path leads to, and after how many steps: "2: a number 1".
absl::StatusOr<std::string> Find(std::string_view path, std::string_view text) {
  JsonFinder finder(TRY(JsonPath::Parse(path)));
  const std::string padded = base::StrCat(text, std::string(kJsonSlack, ']'));
  const JsonFound found =
      TRY(finder.Find(std::string_view(padded).substr(0, text.size())));
  return base::StrCat(found.steps, ": ", Name(found.value.kind), " ", found.value.text);
}

TEST(JsonTest, FollowsAPathThroughObjectsAndArrays) {
  constexpr std::string_view kText =
      R"( {"a": {"b": [[1, 2], {"c": "x"}]}, "\u0065.e": true, "n": null} )";
  EXPECT_THAT(Find("a.b[0][1]", kText), IsOkAndHolds("4: a number 2"));
  EXPECT_THAT(Find("a.b[1].c", kText), IsOkAndHolds("4: a string x"));
  EXPECT_THAT(Find("a.b[0]", kText), IsOkAndHolds("3: an array [1, 2]"));
  EXPECT_THAT(Find("['e.e']", kText), IsOkAndHolds("1: a bool true"));
  EXPECT_THAT(Find("[1][0]", "[0, [7]]"), IsOkAndHolds("2: a number 7"));
}

TEST(JsonTest, SaysHowFarAPathLed) {
  constexpr std::string_view kText = R"({"a": {"b": [1]}, "n": null})";
  EXPECT_THAT(Find("x", kText), IsOkAndHolds("0: nothing "));
  EXPECT_THAT(Find("a.x.y", kText), IsOkAndHolds("1: nothing "));
  EXPECT_THAT(Find("a.b[1]", kText), IsOkAndHolds("2: nothing "));
  EXPECT_THAT(Find("n.x", kText), IsOkAndHolds("1: null null"));
  EXPECT_THAT(Find("a[0]", kText), IsOkAndHolds("1: an object {\"b\": [1]}"));
  EXPECT_THAT(Find("a.b.c", kText), IsOkAndHolds("2: an array [1]"));
  EXPECT_THAT(Find("a.b[0].c", kText), IsOkAndHolds("3: a number 1"));
  EXPECT_THAT(Find("a", "[]"), IsOkAndHolds("0: an array []"));
  EXPECT_THAT(Find("[0]", "[]"), IsOkAndHolds("0: nothing "));
}

TEST(JsonTest, TheEmptyPathIsTheWholeValue) {
  EXPECT_THAT(Find("", " 12 "), IsOkAndHolds("0: a number 12"));
  EXPECT_THAT(Find("", R"("x")"), IsOkAndHolds("0: a string x"));
  EXPECT_THAT(Find("", "{\"a\":1}"), IsOkAndHolds("0: an object {\"a\":1}"));
  EXPECT_THAT(Find("a", "null"), IsOkAndHolds("0: null null"));
  EXPECT_THAT(Find("", std::string_view("\0", 1)), StatusIs(kDataLoss));
  EXPECT_THAT(Find("", ""), StatusIs(kDataLoss, HasSubstr("its end, too early")));
}

TEST(JsonTest, APathIntoNoJsonIsAnError) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"a":{"b":1})", "its end, too early at its byte 12"},
      {R"({"a":{"b":1}}x)", "something behind its end at its byte 13"},
      {R"({"a":{"b":1,}})", "no key in quotes at its byte 12"},
      {R"({"a":{"b":1}} {})", "something behind its end at its byte 14"},
      {R"([1, 2)", "its end, too early at its byte 5"},
      {R"({"a":{"b":1,"b":2}})", "two values for the key b"},
      {R"({"a":{"b":1},"a":0})", "two values for the key a"},
      {"{\"a\":{\"b\":1},\"c\":\"\xff\"}", "no valid UTF-8 at its byte 18"},
  };
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(Find("a.b", text), StatusIs(kDataLoss, HasSubstr(why))) << text;
  }
  EXPECT_THAT(Find("[0]", "[1, 2"), StatusIs(kDataLoss, HasSubstr("too early")));
  EXPECT_THAT(Find("[0]", "[1, 2]]"), StatusIs(kDataLoss, HasSubstr("behind its end")));
}

TEST(JsonTest, OneFinderTakesTextsOfAnyLengths) {
  JsonFinder finder(*JsonPath::Parse("[1]"));
  for (const size_t size : {10, 100'000, 5}) {
    const std::string long_text(size, 'x');
    const std::string text = base::StrCat("[0, \"", long_text, "\"]");
    const std::string padded = text + std::string(kJsonSlack, ' ');
    const absl::StatusOr<JsonFound> found =
        finder.Find(std::string_view(padded).substr(0, text.size()));
    ASSERT_THAT(found, base::IsOk());
    EXPECT_EQ(found->value.text, long_text);
  }
}

TEST(JsonTest, DeepTextsAreSurvived) {
  for (const int depth : {900, 1100, 100'000}) {
    const std::string text = base::StrCat("{\"a\":1,\"b\":", std::string(depth, '['),
                                          std::string(depth, ']'), "}");
    EXPECT_THAT(Find("a", text), IsOkAndHolds("1: a number 1"));
    EXPECT_THAT(Find("b[0][0]", text), base::IsOk());
  }
}

}  // namespace
}  // namespace millrace::codec
