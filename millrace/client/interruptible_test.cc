#include "millrace/client/interruptible.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/status_matchers.h"
#include "millrace/client/consumer.h"
#include "millrace/client/running_service_test.h"

namespace millrace::client {
namespace {

using base::StatusIs;
using testing::SizeIs;

TEST(InterruptibleTest, OpensAsOthersDo) {
  Service service(1);
  const auto consumer =
      OpenInterruptibly(Doubled(100, 10), Options(service), [] { return false; });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  EXPECT_THAT(Read(**consumer), SizeIs(10));
}

TEST(InterruptibleTest, EndsSoonWhereItIsInterrupted) {
  Service service(0);  // So that it would wait.
  const absl::Duration begin = base::RealClock().Monotonic();
  EXPECT_THAT(
      OpenInterruptibly(Doubled(100, 10), Options(service), [] { return true; }),
      StatusIs(absl::StatusCode::kCancelled));
  EXPECT_LT(base::RealClock().Monotonic() - begin, absl::Seconds(15));
}

}  // namespace
}  // namespace millrace::client
