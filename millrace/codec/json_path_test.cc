#include "millrace/codec/json_path.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::codec {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JsonPathStep Member(std::string key) { return {.key = std::move(key)}; }

JsonPathStep Item(int64_t index) { return {.index = index}; }

TEST(JsonPathTest, StepsAreMembersAndItems) {
  EXPECT_THAT(JsonPath::Parse("")->steps(), IsEmpty());
  EXPECT_THAT(JsonPath::Parse("a")->steps(), ElementsAre(Member("a")));
  EXPECT_THAT(JsonPath::Parse("a.b c[0][12].d")->steps(),
              ElementsAre(Member("a"), Member("b c"), Item(0), Item(12), Member("d")));
  EXPECT_THAT(JsonPath::Parse("[3].x")->steps(), ElementsAre(Item(3), Member("x")));
}

TEST(JsonPathTest, QuotesHoldAnyKey) {
  EXPECT_THAT(JsonPath::Parse(R"(a["b.c[0]"]['"'][''].d)")->steps(),
              ElementsAre(Member("a"), Member("b.c[0]"), Member("\""), Member(""),
                          Member("d")));
}

TEST(JsonPathTest, SaysWhereATextIsNoPath) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {".a", "no key at its byte 0"},
      {"a.", "no key at its byte 2"},
      {"a..b", "no key at its byte 2"},
      {"a.[0]", "no key at its byte 2"},
      {"]", "no key at its byte 0"},
      {"a]", "neither a dot nor a bracket at its byte 1"},
      {"[0]a", "neither a dot nor a bracket at its byte 3"},
      {"a[", "no closing bracket at its byte 2"},
      {"a[1", "no closing bracket at its byte 2"},
      {"a[]", "no index from 0 on, nor a key in quotes at its byte 2"},
      {"a[-1]", "no index from 0 on"},
      {"a[-0]", "no index from 0 on"},
      {"a[1.5]", "no index from 0 on"},
      {"a[99999999999999999999]", "no index from 0 on"},
      {"a[\"b]", "a quote without an end at its byte 2"},
      {"a[\"b\"", "no closing bracket at its byte 5"},
      {"a['b'c]", "no closing bracket at its byte 5"},
  };
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(JsonPath::Parse(text), StatusIs(kInvalidArgument, HasSubstr(why)))
        << text;
  }
}

TEST(JsonPathTest, HasABorderOfSteps) {
  std::string text;
  for (size_t i = 0; i < JsonPath::kStepsMax; ++i) text += "[0]";
  EXPECT_THAT(JsonPath::Parse(text), IsOk());
  EXPECT_THAT(JsonPath::Parse(text + "[0]"),
              StatusIs(kInvalidArgument, HasSubstr("more than 100 steps")));
}

TEST(JsonPathTest, TellsItsBeginning) {
  const absl::StatusOr<JsonPath> path = JsonPath::Parse("a.b[0]['c']");
  ASSERT_THAT(path, IsOk());
  EXPECT_EQ(path->Beginning(0), "the text");
  EXPECT_EQ(path->Beginning(1), "a");
  EXPECT_EQ(path->Beginning(2), "a.b");
  EXPECT_EQ(path->Beginning(3), "a.b[0]");
  EXPECT_EQ(path->Beginning(4), "a.b[0]['c']");
}

}  // namespace
}  // namespace millrace::codec
