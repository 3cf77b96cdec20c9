#include "millrace/api/rights.h"

#include "gtest/gtest.h"

#include "millrace/api/described_test.h"

namespace millrace::api {
namespace {

PassFacts Facts() {
  return {.pass = 1,
          .lanes = 2,
          .batch_rows = 3,
          .drop_remainder = true,
          .rows = {{1, 5}, {1, 6}}};
}

TEST(RightsTest, WhatIsSaidOfRightsGoesOverTheWireAsItIs) {
  ExpectRoundTrip(LaneRun{1, 2});
  ExpectRoundTrip(Facts());
  ExpectRoundTrip(Right{1, 2, 3, 4, 5});
  ExpectRoundTrip(Promise{1, 2, 3, kToLeftovers});
  ExpectRoundTrip(RightPlace{1, 2});
  ExpectRoundTrip(PassBeat{.pass = 1,
                           .facts = Facts(),
                           .promises = {{1, 2, 3, 4}},
                           .finished = {{1, 2}},
                           .received = {{3, 4}},
                           .redo = {{5, 6}},
                           .hungry = true});
  ExpectRoundTrip(Ask{1, 2});
  ExpectRoundTrip(PassNews{.pass = 1,
                           .rights = {{1, 2, 3, 4, 5}},
                           .leased = true,
                           .horizon = 7,
                           .final = true,
                           .settled = true,
                           .fill = 0,
                           .give_rows = 8,
                           .asks = {{1, 2}}});
}

}  // namespace
}  // namespace millrace::api
