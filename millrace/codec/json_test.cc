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

}  // namespace
}  // namespace millrace::codec
