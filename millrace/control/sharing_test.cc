#include "millrace/control/sharing.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/control/state.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/state.h"

namespace millrace::control {
namespace {

using testing::IsEmpty;
using testing::Not;

JobState Listed() {
  JobState job{.seed = 7};
  job.facts = api::JobFacts{.rows_hash = "rows", .cuts = api::CutsToJson({})};
  return job;
}

TEST(SharingTest, WhatReadsTheSameRowsShares) {
  JobState other = Listed();
  other.settings.name = "other";
  other.settings.order = "any";
  other.settings.consumers = 8;
  EXPECT_EQ(ShareOf(other), ShareOf(Listed()));
  EXPECT_THAT(ShareOf(other), Not(IsEmpty()));
}

TEST(SharingTest, AnotherSeedOrOtherRowsOrCopiesDoNot) {
  JobState job = Listed();
  job.seed = 8;
  EXPECT_NE(ShareOf(job), ShareOf(Listed()));
  job = Listed();
  job.copies = 2;
  EXPECT_NE(ShareOf(job), ShareOf(Listed()));
  job = Listed();
  job.facts->rows_hash = "others";
  EXPECT_NE(ShareOf(job), ShareOf(Listed()));
}

TEST(SharingTest, WhoSaysSoSharesWithNobody) {
  JobState job = Listed();
  job.settings.share = "off";
  EXPECT_THAT(ShareOf(job), IsEmpty());
  EXPECT_FALSE(NamesGroup(api::JobSettings{.share = "auto"}));
  EXPECT_FALSE(NamesGroup(job.settings));
}

TEST(SharingTest, WhatIsNotListedSharesNothingYet) {
  EXPECT_THAT(ShareOf({}), IsEmpty());
}

TEST(SharingTest, AGroupWithANameIsAnother) {
  JobState job = Listed();
  job.settings.share = "search";
  EXPECT_TRUE(NamesGroup(job.settings));
  EXPECT_NE(ShareOf(job), ShareOf(Listed()));
}

TEST(SharingTest, AStateThatCutsSourcesTheSameWaySharesAndAnotherDoesNot) {
  JobState job = Listed();
  lanes::State state;
  job.state = api::StateToJson(state);
  EXPECT_EQ(ShareOf(job), ShareOf(Listed()));
  state.cuts = {lanes::CutRecord{.lane_rows = 99}};
  job.state = api::StateToJson(state);
  EXPECT_NE(ShareOf(job), ShareOf(Listed()));
  job.state = "no state";
  EXPECT_THAT(ShareOf(job), IsEmpty());
}

TEST(SharingTest, WhatWorkersDidAddsUp) {
  api::JobVisits visits{.job = 1, .made = 1, .shared = 2, .again = 3};
  Add(visits, {.job = 1,
               .made = 10,
               .shared = 20,
               .again = 30,
               .skipped = 40,
               .joined = 50,
               .lag = 60,
               .window_bytes = 70});
  EXPECT_EQ(visits, (api::JobVisits{.job = 1,
                                    .made = 11,
                                    .shared = 22,
                                    .again = 33,
                                    .skipped = 40,
                                    .joined = 50,
                                    .lag = 60,
                                    .window_bytes = 70}));
}

}  // namespace
}  // namespace millrace::control
