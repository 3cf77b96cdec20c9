#include "millrace/delivery/reader_message.h"

#include "gtest/gtest.h"

#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {
namespace {

constexpr auto kReader = base::MakeId<ReaderId>(4);

TEST(ReaderMessageTest, TellsWhatIsNoRows) {
  const api::LaneAddress at{1, 2, 3};
  EXPECT_EQ(MessageOf(SendEnd{kReader, {at, 9}})->message.end->rows, 9);
  EXPECT_EQ(MessageOf(SendSkip{kReader, {at, 4, 8}})->message.skip->end, 8);
  EXPECT_EQ(MessageOf(SendFailure{kReader, {at, {"CODE", "why"}}})
                ->message.failure->error.message,
            "why");
  EXPECT_EQ(MessageOf(Refuse{kReader, "why"})->message.refused, "why");
  EXPECT_EQ(MessageOf(Refuse{kReader, "why"})->reader, kReader);
}

TEST(ReaderMessageTest, SaysNothingOfTheRest) {
  EXPECT_FALSE(MessageOf(StopRun{}).has_value());
  EXPECT_FALSE(MessageOf(Drop{}).has_value());
}

}  // namespace
}  // namespace millrace::delivery
