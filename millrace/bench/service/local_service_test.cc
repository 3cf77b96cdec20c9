#include "millrace/bench/service/local_service.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"

namespace millrace::bench {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;

constexpr char kPipeline[] =
    "millrace 1\n%0 = range(start=0, stop=40)\n%1 = batch(%0, size=4)\n"
    "%2 = map(%1, function={x: nap(.value, microseconds=1)})\n";

int64_t BatchesOf(client::Consumer& consumer) {
  int64_t batches = 0;
  while (true) {
    const absl::StatusOr<std::optional<core::Block>> batch = consumer.Next();
    EXPECT_THAT(batch, IsOk());
    if (!batch.ok() || !*batch) return batches;
    ++batches;
  }
}

TEST(LocalServiceTest, JobsAreReadOneAfterAnother) {
  const auto service = LocalService::Start({.workers = 2});
  ASSERT_THAT(service, IsOk());
  for (int i = 0; i < 2; ++i) {
    const auto consumer = (*service)->Read({.pipeline = kPipeline});
    ASSERT_THAT(consumer, IsOk());
    EXPECT_EQ(BatchesOf(**consumer), 10);
  }
}

TEST(LocalServiceTest, APipelineThatIsNoneIsAnError) {
  const auto service = LocalService::Start({});
  ASSERT_THAT(service, IsOk());
  EXPECT_THAT((*service)->Read({.pipeline = "millrace 1\n%0 = nothing()\n"}),
              StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace::bench
