#include "millrace/control/settings.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/state.h"

namespace millrace::control {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

api::JobSettings Plain() { return {.name = "train", .pipeline = "hash"}; }

// What is wrong with plain settings after a change; empty: nothing.
template <typename Change>
std::string Wrong(const Change& change) {
  api::JobSettings settings = Plain();
  change(settings);
  const absl::Status status = CheckSettings(settings);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

struct Word {
  std::string api::JobSettings::* member;
  std::vector<std::string> words;
  std::string message;  // Of any other word.
};

std::vector<Word> Words() {
  using Job = api::JobSettings;
  return {
      {&Job::order, {"fixed", "any"}, R"(order must be one of "fixed", "any")"},
      {&Job::visit,
       {"exactly_once", "at_most_once", "at_least_once"},
       R"(visit must be one of "exactly_once", "at_most_once", "at_least_once")"},
      {&Job::remainder,
       {"", "drop", "pad", "keep"},
       R"(remainder must be one of "", "drop", "pad", "keep")"},
      {&Job::sharding,
       {"dynamic", "static", "off"},
       R"(sharding must be one of "dynamic", "static", "off")"},
      {&Job::target,
       {"any", "local", "remote"},
       R"(target must be one of "any", "local", "remote")"},
  };
}

TEST(SettingsTest, KnowsItsWords) {
  for (const Word& word : Words()) {
    for (const std::string& known : word.words) {
      EXPECT_EQ(Wrong([&](api::JobSettings& settings) {
                  settings.order = "any";  // Goes with every other word.
                  settings.*word.member = known;
                }),
                "")
          << known;
    }
  }
}

TEST(SettingsTest, OtherWordsAreErrorsThatListTheKnownOnes) {
  for (const Word& word : Words()) {
    EXPECT_EQ(
        Wrong([&](api::JobSettings& settings) { settings.*word.member = "Sometimes"; }),
        word.message + ", not \"Sometimes\"");
  }
}

TEST(SettingsTest, CountsHaveLimits) {
  struct Count {
    int64_t api::JobSettings::* member;
    int64_t least;
    std::string name;
  };

  for (const Count& count : std::vector<Count>{
           {&api::JobSettings::consumers, 1, "consumers must be 1 to 65536"},
           {&api::JobSettings::members, 1, "members must be 1 to 65536"},
           {&api::JobSettings::open_lanes, 0, "open_lanes must be 0 to 65536"}}) {
    const auto with = [&](int64_t value) {
      return Wrong([&](api::JobSettings& settings) { settings.*count.member = value; });
    };
    EXPECT_EQ(with(count.least), "");
    EXPECT_EQ(with(65536), "");
    EXPECT_EQ(with(count.least - 1),
              count.name + ", not " + std::to_string(count.least - 1));
    EXPECT_EQ(with(65537), count.name + ", not 65537");
  }
}

TEST(SettingsTest, AllMembersTogetherHaveALimitToo) {
  const auto with = [](int64_t consumers, int64_t members) {
    return Wrong([&](api::JobSettings& settings) {
      settings.consumers = consumers;
      settings.members = members;
    });
  };
  EXPECT_EQ(with(256, 256), "");
  EXPECT_THAT(with(257, 256), HasSubstr("consumers times members must be 1 "
                                        "to 65536, not 65792"));
  EXPECT_THAT(with(65536, 65536), HasSubstr("consumers times members"));
}

TEST(SettingsTest, AJobHasANameAndAPipeline) {
  EXPECT_EQ(Wrong([](api::JobSettings& settings) { settings.name = ""; }),
            "a job needs a name");
  EXPECT_EQ(Wrong([](api::JobSettings& settings) { settings.pipeline = ""; }),
            "a job needs a pipeline");
}

// Every combination of order with what depends on it: what has no meaning says what it
// needs.
TEST(SettingsTest, FixedOrderVisitsEveryRowOnce) {
  for (const char* visit : {"at_most_once", "at_least_once"}) {
    EXPECT_EQ(Wrong([&](api::JobSettings& settings) { settings.visit = visit; }),
              "order=\"fixed\" needs visit=\"exactly_once\": order=\"any\" can do "
              "without");
  }
  EXPECT_EQ(Wrong([](api::JobSettings& settings) { settings.sharding = "static"; }),
            "");
  EXPECT_EQ(Wrong([](api::JobSettings& settings) { settings.sharding = "off"; }),
            "order=\"fixed\" needs sharding=\"dynamic\" or \"static\"");
}

TEST(SettingsTest, WithShardingOffEachWorkerGivesAllRows) {
  api::JobSettings settings{.sharding = "off"};
  EXPECT_THAT(CopiesOf(settings, "", 3), IsOkAndHolds(3));
  lanes::State saved;
  saved.copies = 2;
  EXPECT_THAT(CopiesOf(settings, api::StateToJson(saved), 3), IsOkAndHolds(2))
      << "as it began";
  settings.sharding = "dynamic";
  EXPECT_THAT(CopiesOf(settings, "", 3), IsOkAndHolds(1));
  EXPECT_THAT(CopiesOf(settings, api::StateToJson(saved), 3),
              StatusIs(kInvalidArgument, HasSubstr("and 2 workers")));
  saved.copies = -1;
  EXPECT_THAT(CopiesOf(settings, api::StateToJson(saved), 3),
              StatusIs(kInvalidArgument, HasSubstr("absurd")));
}

TEST(SettingsTest, SomeThingsNeedFixedOrder) {
  const auto needs_fixed = [](const auto& change) {
    EXPECT_EQ(Wrong(change), "");
    return Wrong([&](api::JobSettings& settings) {
      settings.order = "any";
      change(settings);
    });
  };
  EXPECT_EQ(needs_fixed([](api::JobSettings& settings) { settings.members = 2; }),
            "members needs order=\"fixed\"");
  EXPECT_EQ(
      needs_fixed([](api::JobSettings& settings) { settings.global_batch = true; }),
      "global_batch needs order=\"fixed\"");
  EXPECT_EQ(needs_fixed([](api::JobSettings& settings) { settings.open_lanes = 8; }),
            "open_lanes needs order=\"fixed\"");
}

// What is wrong with settings once the sources were listed; empty: nothing.
std::string WrongWith(const api::JobSettings& settings, const api::JobFacts& facts) {
  const absl::Status status = CheckListed(settings, facts);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(SettingsTest, ConsumersShareTheGroupsOfABucketInWholeRounds) {
  api::JobSettings settings = Plain();
  settings.remainder = "drop";
  const api::JobFacts facts{.lanes = 4, .group = 12};
  for (const int64_t consumers : {1, 2, 3, 4, 6, 12}) {
    settings.consumers = consumers;
    EXPECT_EQ(WrongWith(settings, facts), "");
  }
  settings.consumers = 8;
  EXPECT_THAT(WrongWith(settings, facts),
              HasSubstr("bucket gives groups of 12 batches, and 8 consumers cannot "
                        "share them in whole rounds: choose a group that is a multiple "
                        "of 8"));
  settings.consumers = 4;
  settings.order = "any";
  EXPECT_THAT(WrongWith(settings, facts),
              HasSubstr("bucket with a group needs order=\"fixed\""));
  settings.order = "fixed";
  settings.global_batch = true;
  EXPECT_THAT(WrongWith(settings, facts), HasSubstr("global_batch needs a pipeline"));
}

TEST(SettingsTest, SeveralConsumersSayHowAPassEnds) {
  api::JobSettings settings = Plain();
  EXPECT_EQ(WrongWith(settings, {.lanes = 4}), "") << "one gets everything";
  settings.consumers = 2;
  EXPECT_THAT(WrongWith(settings, {.lanes = 4}),
              AllOf(HasSubstr("a job of several consumers needs remainder=\"drop\""),
                    HasSubstr("\"pad\""), HasSubstr("\"keep\"")));
  EXPECT_EQ(WrongWith(settings, {.lanes = -1}), "") << "it never ends";
  for (const char* remainder : {"drop", "pad", "keep"}) {
    settings.remainder = remainder;
    EXPECT_EQ(WrongWith(settings, {.lanes = 4}), "");
  }
}

TEST(SettingsTest, AGlobalBatchIsDealtInEqualParts) {
  api::JobSettings settings = Plain();
  settings.remainder = "keep";
  settings.global_batch = true;
  settings.consumers = 3;
  EXPECT_EQ(WrongWith(settings, {.lanes = 4, .batch_rows = 12}), "");
  EXPECT_EQ(WrongWith(settings, {.lanes = 4, .batch_rows = 8}),
            "global_batch deals each batch in equal parts, and 3 consumers do not "
            "divide batches of 8 rows: choose a batch size that is a multiple of 3");
}

TEST(SettingsTest, DroppingEverythingIsAnError) {
  api::JobSettings settings = Plain();
  settings.consumers = 3;
  settings.remainder = "drop";
  const auto of = [](int64_t rows, bool drop_remainder = false) {
    return api::JobFacts{.lanes = 1,
                         .counted = true,
                         .batch_rows = 4,
                         .rows = rows,
                         .drop_remainder = drop_remainder};
  };
  EXPECT_EQ(WrongWith(settings, of(9)), "") << "the last of three batches is short";
  EXPECT_EQ(WrongWith(settings, of(8)),
            "remainder=\"drop\" would leave everything out: 8 rows in batches of 4 do "
            "not suffice for 3 consumers; make batches smaller, or choose \"pad\" or "
            "\"keep\"");
  EXPECT_NE(WrongWith(settings, of(9, /*drop_remainder=*/true)), "");
  EXPECT_EQ(WrongWith(settings, of(0)), "") << "there is nothing to leave out";
  EXPECT_EQ(WrongWith(settings, of(-1)), "") << "nobody knows";
  settings.remainder = "keep";
  EXPECT_EQ(WrongWith(settings, of(8)), "");
  settings.remainder = "drop";
  settings.consumers = 2;
  settings.global_batch = true;
  EXPECT_EQ(WrongWith(settings, of(4)), "");
  EXPECT_NE(WrongWith(settings, of(3)), "") << "a short batch is dropped";
  settings.consumers = 1;
  EXPECT_EQ(WrongWith(settings, of(3)), "") << "one gets everything";
}

TEST(SettingsTest, ConsumersOfOneRunAgree) {
  EXPECT_THAT(SameSettings(Plain(), Plain()), IsOk());
  api::JobSettings other = Plain();
  other.consumers = 4;
  EXPECT_THAT(
      SameSettings(Plain(), other),
      StatusIs(kInvalidArgument, "consumers of one run differ in consumers: 1 and 4"));
  other = Plain();
  other.tags = {"gpu"};
  EXPECT_THAT(
      SameSettings(Plain(), other),
      StatusIs(kInvalidArgument, HasSubstr("differ in tags: [] and [\"gpu\"]")));
}

// Only the first difference is told.
TEST(SettingsTest, TheFirstDifferenceIsTold) {
  api::JobSettings other = Plain();
  other.pipeline = "another";
  other.seed = 3;
  EXPECT_THAT(SameSettings(Plain(), other),
              StatusIs(kInvalidArgument,
                       "consumers of one run differ in pipeline: \"hash\" and "
                       "\"another\""));
}

}  // namespace
}  // namespace millrace::control
