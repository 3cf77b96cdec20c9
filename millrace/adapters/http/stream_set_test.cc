#include "millrace/adapters/http/stream_set.h"

#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/stream.h"
#include "millrace/base/status_matchers.h"
#include "millrace/transport/recorder_test.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;

class StreamSetTest : public testing::Test {
 protected:
  ~StreamSetTest() override { loop_->Stop(); }

  std::shared_ptr<Stream> NewStream(transport::Recorder& recorder) {
    const auto stream = std::make_shared<Stream>(loop_, StreamOptions{});
    stream->SetEvents(recorder.Events());
    return stream;
  }

  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
};

TEST_F(StreamSetTest, HasALimitOfOpenOnes) {
  const auto set = std::make_shared<StreamSet>(1);
  transport::Recorder recorder;
  transport::Recorder other;
  const auto first = NewStream(recorder);
  const auto second = NewStream(other);
  EXPECT_TRUE(set->Add(first));
  EXPECT_FALSE(set->Add(second));
  first->End(absl::AbortedError("over"));
  EXPECT_THAT(recorder.WaitClosed(), StatusIs(absl::StatusCode::kAborted));
  loop_->Stop();  // After it, the set knows that the first is gone.
  EXPECT_TRUE(set->Add(second));
}

TEST_F(StreamSetTest, ClosesAllInTheEnd) {
  const auto set = std::make_shared<StreamSet>(2);
  transport::Recorder recorder;
  const auto stream = NewStream(recorder);
  EXPECT_TRUE(set->Add(stream));
  set->CloseAll();
  EXPECT_THAT(recorder.WaitClosed(), IsOk());
  transport::Recorder other;
  EXPECT_FALSE(set->Add(NewStream(other)));
}

}  // namespace
}  // namespace millrace::http
