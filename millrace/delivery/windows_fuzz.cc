// Drives the windows of a worker: jobs that come, go and change, runs that read, fall
// behind and stop, an engine that is honest but fails. What is given is checked by the
// world (windows_test.h); once all have gone nothing is left.

#include "millrace/delivery/windows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

#include "millrace/api/drawn_test.h"
#include "millrace/api/service.h"
#include "millrace/base/check.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows_test.h"

namespace millrace::delivery {
namespace {

constexpr int kStepsMax = 512;
constexpr int64_t kJobs = 4;

class Driver {
 public:
  explicit Driver(api::Drawn& drawn)
      : drawn_(drawn), world_(drawn.Below(4) * 7, 1 + drawn.Below(24)) {
    grid_ = drawn_.Below(3) == 0 ? 1 + drawn_.Below(5) : 0;
    for (int64_t job = 1; job <= kJobs; ++job) {
      joins_.push_back(grid_ > 0 ? 0 : 1 + drawn_.Below(6));
    }
  }

  void Step() {
    constexpr auto kSteps = std::to_array<void (Driver::*)()>(
        {&Driver::SetJobs, &Driver::Start, &Driver::Start, &Driver::Pull, &Driver::Pull,
         &Driver::Pull, &Driver::Make, &Driver::Make, &Driver::Make, &Driver::Fail,
         &Driver::Stop, &Driver::Wait, &Driver::DropGiven});
    (this->*kSteps[drawn_.Below(kSteps.size())])();
  }

  void End() {
    for (const RunId run : runs_) {
      if (!world_.run(run).over) world_.Stop(run);
    }
    world_.SetJobs({});
    world_.DropGiven();
    CHECK_EQ(world_.windows().window_bytes(), 0);
    CHECK_EQ(world_.blocks(), 0);
    CHECK_EQ(world_.running(), 0);
    CHECK(world_.windows().wakes() == absl::InfiniteFuture());
  }

 private:
  void SetJobs() {
    std::vector<api::WorkerJob> jobs;
    for (int64_t job = 1; job <= kJobs; ++job) {
      const bool reads = drawn_.Below(4) > 0;
      known_[job - 1] = known_[job - 1] || reads;
      if (!reads) continue;
      api::WorkerJob one = SharedJob(job, 1 + drawn_.Below(3), joins_[job - 1]);
      one.grid = grid_;
      one.skips = job == 3;
      one.hold_ms = job == 2 ? 50 : 0;
      if (job == 4) one.share = "";
      jobs.push_back(one);
    }
    world_.SetJobs(jobs);
  }

  void Start() {
    if (runs_.size() >= 64) return;
    const int64_t from = drawn_.Below(3) == 0 ? drawn_.Below(12) : 0;
    const int64_t job = drawn_.Below(kJobs);
    if (!known_[job]) return;
    runs_.push_back(world_.Start(1 + job, drawn_.Below(2), from));
  }

  // A run of the lane server that it still has.
  RunId Some() { return runs_[drawn_.Below(runs_.size())]; }

  void Pull() {
    if (!runs_.empty()) world_.Pull(Some());
  }

  void Stop() {
    if (runs_.empty()) return;
    const RunId run = Some();
    if (!world_.run(run).over) world_.Stop(run);
  }

  void Make() { world_.MakeOne(drawn_.Below(8)); }

  void Fail() {
    if (drawn_.Below(4) == 0) world_.FailOne();
  }

  void Wait() {
    now_ += absl::Milliseconds(drawn_.Below(40));
    world_.Advance(now_);
  }

  void DropGiven() { world_.DropGiven(); }

  api::Drawn& drawn_;
  WindowWorld world_;
  int64_t grid_ = 0;
  std::vector<int64_t> joins_;
  std::array<bool, kJobs> known_ = {};
  std::vector<RunId> runs_;
  absl::Time now_ = absl::UnixEpoch();
};

}  // namespace
}  // namespace millrace::delivery

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millrace::api::Drawn drawn(data, size, {});
  millrace::delivery::Driver driver(drawn);
  for (int i = 0; i < millrace::delivery::kStepsMax && !drawn.empty(); ++i) {
    driver.Step();
  }
  driver.End();
  return 0;
}
