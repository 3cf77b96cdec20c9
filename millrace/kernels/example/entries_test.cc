#include "millrace/kernels/example/entries.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::kernels {
namespace {

using testing::HasSubstr;

// The entries of a, b and c, with "-" for a missing one.
std::string Found(EntryFinder& finder, const std::string& record) {
  std::vector<EntryPlace> places(3);
  const absl::Status found = finder.Find(record, absl::MakeSpan(places));
  if (!found.ok()) return std::string(found.message());
  std::string shown;
  for (const EntryPlace& place : places) {
    const std::string entry =
        place.missing() ? "-" : record.substr(place.begin, place.end - place.begin);
    shown += (shown.empty() ? "" : " ") + entry;
  }
  return shown;
}

class EntriesTest : public testing::Test {
 protected:
  const std::vector<std::string_view> names_ = {"a", "b", "c"};
  EntryFinder finder_ = EntryFinder(EntriesOf::kFeatures, names_);
};

std::string Plain(const std::string& name, const std::string& value) {
  return Field(1, name) + Field(2, value);
}

TEST_F(EntriesTest, FindsThemInAnyOrder) {
  const std::string abc = ExampleOf({{"a", "1"}, {"b", "22"}, {"c", "333"}});
  const std::string cab = ExampleOf({{"c", "333"}, {"x", "4"}, {"a", "1"}, {"b", "2"}});
  const std::string first =
      Plain("a", "1") + " " + Plain("b", "22") + " " + Plain("c", "333");
  const std::string second =
      Plain("a", "1") + " " + Plain("b", "2") + " " + Plain("c", "333");
  EXPECT_EQ(Found(finder_, abc), first);
  EXPECT_EQ(Found(finder_, cab), second);
  EXPECT_EQ(Found(finder_, cab), second);
  EXPECT_EQ(Found(finder_, abc), first);
}

TEST_F(EntriesTest, TellsWhatIsMissing) {
  EXPECT_EQ(Found(finder_, ""), "- - -");
  EXPECT_EQ(Found(finder_, ExampleOf({})), "- - -");
  EXPECT_EQ(Found(finder_, ExampleOf({{"b", "2"}})), "- " + Plain("b", "2") + " -");
  EXPECT_EQ(Found(finder_, SequenceOf({}, {{"a", "1"}})), "- - -");
}

TEST_F(EntriesTest, TakesTheLaterOfTwo) {
  const std::string twice = ExampleOf({{"a", "1"}, {"a", "2"}});
  EXPECT_EQ(Found(finder_, twice), Plain("a", "2") + " - -");
  // Maps in pieces are one map.
  const std::string pieces =
      ExampleOf({{"a", "1"}, {"b", "1"}}) + NumberField(9, 9) + ExampleOf({{"a", "3"}});
  EXPECT_EQ(Found(finder_, pieces), Plain("a", "3") + " " + Plain("b", "1") + " -");
}

TEST_F(EntriesTest, ReadsOddEntries) {
  // The value first; two names; fields that nobody knows; a value in two pieces.
  const std::string value_first = Field(2, "1") + Field(1, "a");
  const std::string two_names = Field(1, "a") + Field(2, "1") + Field(1, "b");
  const std::string unknown = Field(1, "c") + Field(2, "1") + Field(5, "?");
  const std::string record = Field(1, Field(1, value_first) + Field(1, two_names) +
                                          Field(1, unknown) + Field(7, ""));
  const std::string expected = value_first + " " + two_names + " " + unknown;
  EXPECT_EQ(Found(finder_, record), expected);
  EXPECT_EQ(Found(finder_, record), expected);
  // As if the entries were as before, but the second is now another.
  const std::string plain = ExampleOf({{"a", "1"}, {"c", "1"}});
  EXPECT_EQ(Found(finder_, plain), Plain("a", "1") + " - " + Plain("c", "1"));
  const std::string renamed = Field(1, Field(1, Plain("a", "1") + Field(1, "b")));
  EXPECT_EQ(Found(finder_, renamed), "- " + Plain("a", "1") + Field(1, "b") + " -");
}

TEST_F(EntriesTest, FindsAnEntryWithoutName) {
  const std::vector<std::string_view> names = {""};
  EntryFinder finder(EntriesOf::kFeatures, names);
  EntryPlace place;
  const std::string record = Field(1, Field(1, Field(2, "1")));
  ASSERT_THAT(finder.Find(record, absl::MakeSpan(&place, 1)), base::IsOk());
  EXPECT_FALSE(place.missing());
}

TEST_F(EntriesTest, ReadsTheListsOfASequence) {
  EntryFinder lists(EntriesOf::kFeatureLists, names_);
  const std::string record = SequenceOf({{"a", "1"}}, {{"b", "2"}});
  EXPECT_EQ(Found(lists, record), "- " + Plain("b", "2") + " -");
  EXPECT_EQ(Found(finder_, record), Plain("a", "1") + " - -");
}

TEST_F(EntriesTest, TellsWhereARecordIsDamaged) {
  const std::string record = ExampleOf({{"a", "1"}, {"b", "2"}});
  EXPECT_THAT(Found(finder_, record.substr(0, record.size() - 1)),
              HasSubstr("a length reaches beyond its message at byte 1"));
  EXPECT_THAT(Found(finder_, Field(1, Field(1, "\x0A\x05"))),
              HasSubstr("a length reaches beyond its message at byte 5"));
  EXPECT_THAT(Found(finder_, Field(1, Plain("a", "1") + "\x0A\x09")),
              HasSubstr("damaged"));
  EXPECT_THAT(Found(finder_, "not a record"), HasSubstr("damaged"));
}

TEST_F(EntriesTest, KnowsLongNames) {
  const std::string name(300, 'n');
  const std::string entry = Plain(name, "1");
  std::string_view value = entry;
  EXPECT_TRUE(TakePlainValue(value, PlainEntryHeader(name)));
  EXPECT_EQ(value, "1");
  EXPECT_FALSE(TakePlainValue(value, PlainEntryHeader(name)));
}

}  // namespace
}  // namespace millrace::kernels
