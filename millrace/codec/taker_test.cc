#include "millrace/codec/taker.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::codec {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;

constexpr uint64_t kMost = (uint64_t{1} << 63) - 1;

TEST(TakerTest, GivesWhatWasPut) {
  std::string bytes;
  PutNumber(0x0102, 2, bytes);
  PutVarint(300, bytes);
  PutText("hello", bytes);
  PutVarint(kMost, bytes);
  EXPECT_EQ(bytes.substr(0, 2), "\x02\x01");
  Taker taker(bytes, "test");
  EXPECT_THAT(taker.Number(2), IsOkAndHolds(0x0102U));
  EXPECT_THAT(taker.Varint(), IsOkAndHolds(300U));
  EXPECT_THAT(taker.Text(), IsOkAndHolds("hello"));
  EXPECT_THAT(taker.Varint(), IsOkAndHolds(kMost));
  EXPECT_EQ(taker.left(), 0);
}

TEST(TakerTest, WhatIsCutOffIsDamaged) {
  std::string bytes;
  PutText("hello", bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Taker taker(std::string_view(bytes).substr(0, size), "index");
    EXPECT_THAT(taker.Text(), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("index is damaged: it is cut off")));
  }
}

TEST(TakerTest, NumbersWithoutAnEndAreDamaged) {
  const std::string bytes(20, '\xff');
  EXPECT_THAT(Taker(bytes, "index").Varint(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a number has no end")));
}

TEST(TakerTest, CountsHaveALimit) {
  std::string bytes;
  PutVarint(17, bytes);
  EXPECT_THAT(Taker(bytes, "frame").Count(17), IsOkAndHolds(17));
  EXPECT_THAT(Taker(bytes, "frame").Count(16),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("absurd number: 17")));
}

}  // namespace
}  // namespace millrace::codec
