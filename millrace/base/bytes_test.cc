#include "millrace/base/bytes.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"

namespace millrace::base {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

static_assert((4_KiB).count() == 4096);
static_assert(1_MiB == 1024_KiB && 1_GiB == 1024_MiB && 1_TiB == 1024_GiB);
static_assert(1_KiB + 1_KiB == 2_KiB && 3_KiB - 1_KiB == 2_KiB);
static_assert(2 * 3_B == 6_B && 3_B * 2 == 6_B);
static_assert(7_B / 2 == 3_B && 1_MiB / 1_KiB == 1024 && 7_B % 4_B == 3_B);
static_assert(1_B < 1_KiB && 1_KiB >= 1024_B && Bytes() == 0_B);

TEST(BytesTest, AccumulateInPlace) {
  Bytes total;
  total += 3_KiB;
  total -= 1_KiB;
  total *= 6;
  total /= 4;
  EXPECT_EQ(total, 3_KiB);
}

TEST(BytesTest, SumsStayAtTheEnds) {
  EXPECT_EQ(Bytes::Max() + 1_B, Bytes::Max());
  EXPECT_EQ(Bytes::Min() - 1_B, Bytes::Min());
  EXPECT_EQ(Bytes::Min() + Bytes(-1), Bytes::Min());
  EXPECT_EQ(Bytes::Max() - Bytes(-1), Bytes::Max());
  EXPECT_EQ(0_B - Bytes::Min(), Bytes::Max());
}

TEST(BytesTest, ProductsStayAtTheEnds) {
  EXPECT_EQ(1_TiB * kMax, Bytes::Max());
  EXPECT_EQ(1_TiB * -kMax, Bytes::Min());
  EXPECT_EQ(Bytes(-2) * kMax, Bytes::Min());
  EXPECT_EQ(Bytes(-2) * -kMax, Bytes::Max());
}

TEST(BytesTest, DivideTowardsZero) {
  EXPECT_EQ(Bytes(-7) / 2, Bytes(-3));
  EXPECT_EQ(Bytes(-7) % 2_B, Bytes(-1));
  EXPECT_EQ(Bytes::Min() / -1, Bytes::Max());
  EXPECT_DEATH(1_B / 0, "divisor != 0");
  EXPECT_DEATH(1_B / 0_B, "divisor != 0");
}

TEST(BytesTest, AreKeysOfHashSets) {
  const absl::flat_hash_set<Bytes> sizes = {1_B, 1_KiB, 1024_B};
  EXPECT_EQ(sizes.size(), 2);
}

TEST(BytesTest, PrintWhole) {
  EXPECT_EQ(ToString(0_B), "0 B");
  EXPECT_EQ(ToString(1023_B), "1023 B");
  EXPECT_EQ(ToString(1_KiB), "1 KiB");
  EXPECT_EQ(ToString(256_MiB), "256 MiB");
  EXPECT_EQ(ToString(3_TiB), "3 TiB");
}

TEST(BytesTest, PrintRoundedToATenth) {
  EXPECT_EQ(ToString(1536_KiB), "1.5 MiB");
  EXPECT_EQ(ToString(1100_B), "1.1 KiB");
  EXPECT_EQ(ToString(1025_B), "1 KiB");
  EXPECT_EQ(ToString(1_MiB - 1_B), "1 MiB");  // Not 1024 KiB.
  EXPECT_EQ(ToString(1_GiB - 1_KiB), "1 GiB");
}

TEST(BytesTest, PrintTheExtremes) {
  EXPECT_EQ(ToString(Bytes(-1536)), "-1.5 KiB");
  EXPECT_EQ(ToString(Bytes::Max()), "8 EiB");
  EXPECT_EQ(ToString(Bytes::Min()), "-8 EiB");
}

TEST(BytesTest, PrintToStreams) {
  std::ostringstream out;
  out << 1536_B;
  EXPECT_EQ(out.str(), "1.5 KiB");
}

TEST(BytesTest, ParseBinaryAndDecimalUnits) {
  EXPECT_THAT(ParseBytes("256MiB"), IsOkAndHolds(256_MiB));
  EXPECT_THAT(ParseBytes("4096"), IsOkAndHolds(4_KiB));
  EXPECT_THAT(ParseBytes("0"), IsOkAndHolds(0_B));
  EXPECT_THAT(ParseBytes("10 GB"), IsOkAndHolds(Bytes(10'000'000'000)));
  EXPECT_THAT(ParseBytes(" 2 kib "), IsOkAndHolds(2_KiB));
  EXPECT_THAT(ParseBytes("12b"), IsOkAndHolds(12_B));
}

TEST(BytesTest, ParseFractions) {
  EXPECT_THAT(ParseBytes("1.5GiB"), IsOkAndHolds(1536_MiB));
  EXPECT_THAT(ParseBytes(".5 KiB"), IsOkAndHolds(512_B));
  EXPECT_THAT(ParseBytes("0.7"), IsOkAndHolds(1_B));
}

TEST(BytesTest, ParseTheLargestExactly) {
  EXPECT_THAT(ParseBytes("9223372036854775807"), IsOkAndHolds(Bytes::Max()));
  EXPECT_THAT(ParseBytes("9007199254740993B"), IsOkAndHolds(Bytes(9007199254740993)));
}

TEST(BytesTest, ParsingRefusesWhatIsTooLarge) {
  for (const char* text : {"8EiB", "9223372036854775808", "1e3", "8.0 EiB",
                           "99999999999999999999999999999999TiB"}) {
    EXPECT_THAT(ParseBytes(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
  EXPECT_THAT(ParseBytes("8EiB"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too large")));
}

TEST(BytesTest, ParsingSaysWhatIsWrong) {
  const auto refuses = [](const std::string& text, const std::string& why) {
    EXPECT_THAT(ParseBytes(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                           AllOf(HasSubstr(why), HasSubstr(text))));
  };
  refuses("", "needs a number");
  refuses("MiB", "needs a number");
  refuses("1.2.3", "needs a number");
  refuses(".", "needs a number");
  refuses("inf", "needs a number");
  refuses("-1", "negative");
  refuses("12 parsecs", "unknown unit");
  refuses("12M", "unknown unit");
  refuses("12MiB12", "unknown unit");
  refuses(std::string("1\0", 2), "unknown unit");
}

// Rounding to a tenth of a unit is off by a twentieth at most.
TEST(BytesTest, ParsingWhatWasPrintedComesClose) {
  Generator generator(RandomKey(1, 0, 0), {});
  for (int trial = 0; trial < 2000; ++trial) {
    const Bytes bytes(generator.Integer(0, int64_t{1} << generator.Integer(1, 60)));
    const auto parsed = ParseBytes(ToString(bytes));
    ASSERT_THAT(parsed, IsOk());
    EXPECT_LE(std::abs((*parsed - bytes).count()), bytes.count() / 20) << bytes.count();
  }
}

TEST(BytesTest, QuotientAndRemainderGiveTheWholeAgain) {
  Generator generator(RandomKey(2, 0, 0), {});
  for (int trial = 0; trial < 2000; ++trial) {
    const Bytes whole(generator.Integer(-1'000'000, 1'000'000));
    const Bytes part(generator.Integer(1, 1000));
    EXPECT_EQ(part * (whole / part) + whole % part, whole);
    EXPECT_LT((whole % part).count(), part.count());
  }
}

}  // namespace
}  // namespace millrace::base
