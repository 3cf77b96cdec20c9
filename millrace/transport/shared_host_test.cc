#include "millrace/transport/shared_host.h"

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"

namespace millrace::transport {
namespace {

constexpr int64_t kFile = 7;
using Access = SharedHost::Access;

TEST(SharedHostTest, TheOnlyReaderMayWriteIfItAsks) {
  SharedHost host({});
  const int64_t reader = host.Add();
  EXPECT_EQ(host.Lend(1, reader), Access::kReads);
  host.LetWrite(reader);
  EXPECT_TRUE(host.MayWrite(reader));
  EXPECT_EQ(host.Lend(kFile, reader), Access::kWrites);
  EXPECT_TRUE(host.MayReuse(kFile));
}

TEST(SharedHostTest, OneOfSeveralMayNot) {
  SharedHost host({});
  const int64_t one = host.Add();
  const int64_t two = host.Add();
  host.LetWrite(one);
  EXPECT_FALSE(host.MayWrite(one));
  EXPECT_EQ(host.Lend(kFile, one), Access::kReads);
  EXPECT_EQ(host.Lend(kFile, two), Access::kReads);
}

TEST(SharedHostTest, WhenAnotherComesWhatTheFirstCanWriteToIsGivenUp) {
  int trims = 0;
  SharedHost host({.trim = [&] { ++trims; }});
  const int64_t one = host.Add();
  host.LetWrite(one);
  EXPECT_EQ(host.Lend(kFile, one), Access::kWrites);
  EXPECT_EQ(trims, 0);
  const int64_t two = host.Add();
  EXPECT_EQ(trims, 1);
  EXPECT_FALSE(host.MayReuse(kFile));
  EXPECT_EQ(host.Lend(kFile, one), std::nullopt);
  EXPECT_EQ(host.Lend(kFile, two), std::nullopt);
  EXPECT_EQ(host.Lend(kFile + 1, one), Access::kReads);
  EXPECT_TRUE(host.MayReuse(kFile + 1));
}

// The first may live on, without its stream.
TEST(SharedHostTest, WhoComesLaterAloneDoesNotGetWhatOneBeforeCanWriteTo) {
  SharedHost host({});
  const int64_t one = host.Add();
  host.LetWrite(one);
  EXPECT_EQ(host.Lend(kFile, one), Access::kWrites);
  host.Remove(one);
  EXPECT_FALSE(host.MayReuse(kFile));
  const int64_t two = host.Add();
  host.LetWrite(two);
  EXPECT_TRUE(host.MayWrite(two));
  EXPECT_EQ(host.Lend(kFile, two), std::nullopt);
  EXPECT_EQ(host.Lend(kFile + 1, two), Access::kWrites);
}

}  // namespace
}  // namespace millrace::transport
