#include "millrace/api/stream.h"

#include <cstdint>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/described_test.h"

namespace millrace::api {
namespace {

BatchHead Head() {
  return {.at = {1, 2},
          .begin = 3,
          .end = std::numeric_limits<int64_t>::max(),
          .tail = true,
          .bytes = 4,
          .digest_before = {.hi = 1, .lo = 2},
          .digest = {.hi = 3, .lo = 4},
          .last = true,
          .key = 5,
          .tails = {6, 7}};
}

TEST(StreamTest, WhatReadersSayGoesOverTheWireAsItIs) {
  ExpectRoundTrip(LaneAddress{1, 2, 3});
  ExpectRoundTrip(ReaderHello{1, 2, 3, 4, 5, 6});
  ExpectRoundTrip(Want{{1, 2}, 3, 4, 5});
  ExpectRoundTrip(ReaderMessage{.hello = ReaderHello{1, 2, 3, 4, 5, 6},
                                .forget = {{1, 2}, {1, 3}},
                                .wants = {{{1, 2}, 3, 4, 5}}});
}

TEST(StreamTest, WhatWorkersSayGoesOverTheWireAsItIs) {
  ExpectRoundTrip(Head());
  ExpectRoundTrip(LaneEnd{{1, 2}, 3, {4, 5}});
  ExpectRoundTrip(LaneSkip{{1, 2}, 3, 4});
  ExpectRoundTrip(LaneFailure{{1, 2}, {"DATA_LOSS", "shard-2.tar is cut off"}});
  ExpectRoundTrip(WorkerMessage{
      .batch = Head(),
      .end = LaneEnd{{1, 2}, 3, {4, 5}},
      .failure = LaneFailure{{1, 2}, {"DATA_LOSS", "shard-2.tar is cut off"}},
      .refused = "the job was started anew",
      .skip = LaneSkip{{1, 2}, 3, 4}});
}

// Most messages say one thing.
TEST(StreamTest, WhatIsNotSaidIsNotThere) {
  ExpectReads("{}", WorkerMessage());
  ExpectReads(R"({"refused":""})", WorkerMessage{.refused = ""});
  ExpectReads(R"({"hello":null,"forget":[{"lane":2}]})",
              ReaderMessage{.forget = {{0, 2}}});
}

TEST(StreamTest, LanesAreOrderedByPass) {
  EXPECT_LT((LaneAddress{0, 9}), (LaneAddress{1, 0}));
  EXPECT_LT((LaneAddress{1, 0}), (LaneAddress{1, 1}));
  EXPECT_LT((LaneAddress{1, 1, 1}), (LaneAddress{1, 1, 2}));
}

}  // namespace
}  // namespace millrace::api
