#include "millrace/client/job_pass.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/listing.h"
#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/ids.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/lane_runs_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/frames/frame.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::client {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using exec::Values;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Draws, so that it matters which row of which pass they are for.
std::string Noisy(int64_t rows, int64_t batch) {
  return base::StrCat("%0 = range(stop=", rows,
                      ")\n%1 = map(%0, function={value: .value, noise: "
                      "integers(0, 1000000)})\n%2 = batch(%1, size=",
                      batch,
                      ")\n%3 = map(%2, function={value: .value, noise: "
                      ".noise, total: sum(.value)})\n");
}

// A job whose rows are cut into lanes of seven, and what plans of it are made from.
class Job {
 public:
  explicit Job(const std::string& text, int64_t tracks = 2)
      : pipeline_(exec::AsWritten(text)) {
    lanes::State state;
    state.cuts = {{.lane_rows = 7, .exact_ends = true}};
    opened_.seed = 5;
    opened_.tracks = tracks;
    opened_.facts.counted = true;
    opened_.state = api::StateToJson(state);
    listing_ = api::ListingToJson(PlanOf(0)->listing());
  }

  absl::StatusOr<std::unique_ptr<JobPass>> Pass(int64_t pass) {
    JobPass::Source source{&pipeline_, &ops::DefaultLibrary(), &opened_, listing_};
    source.settings = settings;
    return JobPass::Plan(engine_, source, pass);
  }

  // As workers plan it.
  std::shared_ptr<exec::LanePlan> PlanOf(int64_t pass) {
    return exec::MustPlan(
        engine_, pipeline_,
        exec::PassOfJob(5, pass, {}, {{.lane_rows = 7, .exact_ends = true}}));
  }

  // What a lane gives.
  std::vector<exec::LaneBatch> Lane(int64_t pass, int64_t lane) {
    const auto run = exec::MustOpen(engine_, PlanOf(pass), {.lane = lane});
    return exec::Drain(*run).batches;
  }

  void ClaimUncounted() { opened_.facts.counted = false; }

  api::JobSettings settings;

 private:
  exec::Engine engine_{{.threads = 1}};
  rewrite::Rewritten pipeline_;
  api::OpenedJob opened_;
  std::string listing_;
};

// Rows of a batch or tail, as they are received.
ReceivedPart Received(const exec::LaneBatch& batch, int64_t skip, int64_t rows) {
  const frames::Frame frame =
      frames::Encode(batch.block, core::HeapPool(), frames::Summed::kHead).value();
  core::Buffer bytes = core::HeapPool().Allocate(frame.bytes()).value();
  frame.CopyTo(bytes.mutable_data());
  delivery::BatchPart part{.skip = skip, .rows = rows, .tail = batch.tail};
  return {{std::move(bytes)}, part};
}

// What a state says that leaves this of a pass.
lanes::State StateOf(const JobPass& pass, const lanes::Rest& rest) {
  delivery::FixedReaderOptions options;
  options.batching = pass.batching();
  return pass.StateOf(delivery::FixedReader(options, rest));
}

// All rows of these.
ReceivedBatch Whole(std::vector<ReceivedPart> parts) {
  ReceivedBatch batch{.parts = std::move(parts)};
  for (const ReceivedPart& part : batch.parts) batch.rows += part.part.rows;
  batch.slice_end = batch.rows;
  return batch;
}

TEST(JobPassTest, DealsAllOfThePass) {
  Job job(Noisy(30, 4));
  const auto pass = job.Pass(0);
  ASSERT_THAT(pass, IsOk());
  const lanes::Rest whole = (*pass)->Whole();
  EXPECT_EQ(whole.tracks.size(), 2);
  EXPECT_EQ(whole.rows(), 30);
  EXPECT_TRUE((*pass)->counted());
  EXPECT_EQ((*pass)->batching().rows, 4);
}

TEST(JobPassTest, RowsThatNobodyKnowsAreTakenAsEndless) {
  Job job(Noisy(30, 4));
  job.ClaimUncounted();
  const auto pass = job.Pass(0);
  ASSERT_THAT(pass, IsOk());
  EXPECT_FALSE((*pass)->counted());
  for (const lanes::Track& track : (*pass)->Whole().tracks) {
    for (const lanes::LaneRange& range : track.lanes) EXPECT_GT(range.end, 1'000'000);
  }
}

TEST(JobPassTest, AStateSaysWhatIsLeft) {
  Job job(Noisy(30, 4));
  const auto pass = job.Pass(3);
  ASSERT_THAT(pass, IsOk());
  lanes::Rest rest = (*pass)->Whole();
  rest.tracks[0].lanes[0].begin = 4;  // One batch was taken.
  rest.turn = 1;
  const lanes::State state = StateOf(**pass, rest);
  EXPECT_EQ(state.pass, 3);
  EXPECT_EQ(state.order, (lanes::OrderRecord{lanes::OrderKind::kFixed, 2}));
  const absl::StatusOr<lanes::State> read = api::StateFromJson(api::StateToJson(state));
  ASSERT_THAT(read, IsOk());
  const absl::StatusOr<lanes::Rest> left = (*pass)->Left(*read);
  ASSERT_THAT(left, IsOk());
  EXPECT_EQ(*left, rest);
  const lanes::State all = StateOf(**pass, (*pass)->Whole());
  EXPECT_EQ(*(*pass)->Left(all), (*pass)->Whole());
}

TEST(JobPassTest, OtherTracksAreDealtWhatIsLeft) {
  Job job(Noisy(30, 4));
  lanes::Rest rest = (*job.Pass(0))->Whole();
  rest.tracks[0].lanes[0].begin = 4;
  const lanes::State state = StateOf(**job.Pass(0), rest);
  Job wider(Noisy(30, 6), 3);
  const auto pass = wider.Pass(0);
  ASSERT_THAT(pass, IsOk());
  const absl::StatusOr<lanes::Rest> left = (*pass)->Left(state);
  ASSERT_THAT(left, IsOk()) << "the size of batches may differ";
  EXPECT_EQ(left->tracks.size(), 3);
  EXPECT_EQ(left->rows(), 26);
}

TEST(JobPassTest, AStateOfAnotherPipelineIsRefusedWithTheDifference) {
  Job job(Noisy(30, 4));
  Job other("%0 = range(stop=30)\n%1 = batch(%0, size=4)\n");
  const auto pass = job.Pass(0);
  const auto others = other.Pass(0);
  const lanes::State state = StateOf(**others, (*others)->Whole());
  const lanes::State own = StateOf(**pass, (*pass)->Whole());
  EXPECT_THAT(
      (*pass)->Left(state),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr(base::ToHex(state.row_fingerprint).substr(0, 8)),
                     HasSubstr(base::ToHex(own.row_fingerprint).substr(0, 8)))));
}

TEST(JobPassTest, ABatchIsGivenAsItCame) {
  Job job(Noisy(30, 4));
  const exec::LaneBatch batch = job.Lane(0, 1).front();
  ASSERT_FALSE(batch.tail);
  const auto given = (*job.Pass(0))->BatchOf(Whole({Received(batch, 0, 4)}));
  ASSERT_THAT(given, IsOk());
  EXPECT_TRUE(core::SameRows(*given, batch.block));
}

// Lanes of seven rows leave three each: the last operators run on both, as on a batch
// that one lane gives.
TEST(JobPassTest, TailsAreJoinedToWhatOneLaneWouldGive) {
  for (const int64_t number : {0, 2}) {
    Job job(Noisy(30, 4));
    const exec::LaneBatch first = job.Lane(number, 0).back();
    const exec::LaneBatch second = job.Lane(number, 1).back();
    ASSERT_TRUE(first.tail && second.tail);
    const auto pass = job.Pass(number);
    ASSERT_THAT(pass, IsOk());
    const auto joined =
        (*pass)->BatchOf(Whole({Received(first, 0, 3), Received(second, 1, 1)}));
    ASSERT_THAT(joined, IsOk());
    EXPECT_THAT(Values<int64_t>(*joined, "value"), ElementsAre(4, 5, 6, 12));
    EXPECT_THAT(Values<int64_t>(*joined, "total"), ElementsAre(4 + 5 + 6 + 12));
    std::vector<int64_t> noise = Values<int64_t>(first.block, "noise");
    noise.push_back(Values<int64_t>(second.block, "noise")[1]);
    EXPECT_EQ(Values<int64_t>(*joined, "noise"), noise);
  }
}

TEST(JobPassTest, GivesThePartOfJoinedTailsThatIsWanted) {
  Job job("%0 = range(stop=30)\n%1 = batch(%0, size=4)\n");
  ReceivedBatch batch = Whole(
      {Received(job.Lane(0, 0).back(), 0, 3), Received(job.Lane(0, 1).back(), 0, 1)});
  batch.slice_begin = 2;
  const auto given = (*job.Pass(0))->BatchOf(batch);
  ASSERT_THAT(given, IsOk());
  EXPECT_EQ(given->rows(), 1) << "a batch";
  EXPECT_THAT(Values<int64_t>(*given, "value"), ElementsAre(6, 11));
}

TEST(JobPassTest, AShortBatchIsFilledUpByABatchOrRepeated) {
  Job job("%0 = range(stop=30)\n%1 = batch(%0, size=4)\n");
  const auto pass = job.Pass(0);
  const ReceivedPart tail = Received(job.Lane(0, 0).back(), 0, 3);
  exec::LaneBatch fill = job.Lane(0, 1).front();
  fill.block = fill.block.Unstack()->Slice(0, 1).Stack(1);
  const auto filled = (*pass)->BatchOf(Whole({tail, Received(fill, 0, 1)}));
  ASSERT_THAT(filled, IsOk());
  EXPECT_THAT(Values<int64_t>(*filled, "value"), ElementsAre(4, 5, 6, 7));
  const auto repeated =
      (*pass)->BatchOf({.parts = {tail}, .rows = 8, .slice_begin = 2, .slice_end = 8});
  ASSERT_THAT(repeated, IsOk());
  EXPECT_THAT(Values<int64_t>(*repeated, "value"), ElementsAre(6, 4, 5, 6, 4, 5));
}

TEST(JobPassTest, AFrameThatIsDamagedIsAnError) {
  Job job(Noisy(30, 4));
  ReceivedPart part = Received(job.Lane(0, 0).front(), 0, 4);
  core::Buffer& frame = part.frame.frame;
  frame = frame.Slice(0, frame.size() / 2);
  EXPECT_THAT((*job.Pass(0))->BatchOf(Whole({part})), StatusIs(StatusCode::kDataLoss));
}

TEST(JobPassTest, TailsThatMakeMoreThanABatchAreAnError) {
  Job job(Noisy(30, 4));
  const ReceivedPart tail = Received(job.Lane(0, 0).back(), 0, 3);
  EXPECT_THAT((*job.Pass(0))->BatchOf(Whole({tail, tail})),
              StatusIs(StatusCode::kDataLoss));
}

// Lanes of a repetition are cut when they are wanted, and so is what comes behind a
// state.
TEST(JobPassTest, APassWithoutEndIsDealtLanesAsTheyAreWanted) {
  Job job("%0 = range(stop=30)\n%1 = repeat(%0)\n%2 = batch(%1, size=4)\n");
  const auto pass = job.Pass(0);
  ASSERT_THAT(pass, IsOk());
  const auto begun = (*pass)->Begin(std::nullopt);
  ASSERT_THAT(begun, IsOk());
  delivery::PassReader& reader = *begun->reader;
  for (int more = 0; more < 20; ++more) {
    ASSERT_THAT((*pass)->DealMore(reader), IsOk());
    for (const delivery::LaneNeed& need : reader.Needs()) {
      reader.OnPlaced(need.at, base::MakeId<delivery::WorkerId>(1));
    }
  }
  EXPECT_EQ(reader.ready(), delivery::PassReader::Ready::kWait) << "it never ends";
  const lanes::State state = (*pass)->StateOf(reader);
  const auto again = job.Pass(0);
  ASSERT_THAT(again, IsOk());
  const auto resumed = (*again)->Begin(state);
  ASSERT_THAT(resumed, IsOk());
  EXPECT_EQ((*again)->StateOf(*resumed->reader), state);
}

TEST(JobPassTest, InAnyOrderTheDispatcherIsToldThatAPassHasNoEnd) {
  Job job("%0 = range(stop=30)\n%1 = repeat(%0)\n%2 = batch(%1, size=4)\n");
  job.settings.order = "any";
  const auto pass = job.Pass(0);
  ASSERT_THAT(pass, IsOk());
  const auto begun = (*pass)->Begin(std::nullopt);
  ASSERT_THAT(begun, IsOk());
  EXPECT_EQ(begun->facts->lanes, api::kEndless);
  EXPECT_THAT(begun->facts->rows, IsEmpty());
}

TEST(JobPassTest, InAnyOrderTheDispatcherIsToldOfLanesInRuns) {
  Job job(Noisy(30, 4));
  job.settings.order = "any";
  const auto pass = job.Pass(2);
  ASSERT_THAT(pass, IsOk());
  const auto begun = (*pass)->Begin(std::nullopt);
  ASSERT_THAT(begun, IsOk());
  ASSERT_TRUE(begun->facts.has_value());
  EXPECT_EQ(begun->facts->pass, 2);
  EXPECT_EQ(begun->facts->lanes, 5);
  EXPECT_EQ(begun->facts->batch_rows, 4);
  EXPECT_THAT(begun->facts->rows, ElementsAre(api::LaneRun{4, 7}, api::LaneRun{1, 2}));
  const lanes::State state = (*pass)->StateOf(*begun->reader);
  EXPECT_EQ(state.order.kind, lanes::OrderKind::kAny);
  EXPECT_EQ(state.parts, 1);
}

TEST(JobPassTest, PaddedBatchesSayWhichRowsAreValid) {
  Job job(Noisy(30, 4));
  job.settings.remainder = "pad";
  const auto pass = job.Pass(0);
  ASSERT_THAT(pass, IsOk());
  ReceivedBatch batch = Whole({Received(job.Lane(0, 1).front(), 0, 4)});
  batch.valid = 3;
  const auto given = (*pass)->BatchOf(batch);
  ASSERT_THAT(given, IsOk());
  EXPECT_EQ(given->names().back(), "valid");
  EXPECT_THAT(given->Find("valid")->As<bool>(), ElementsAre(true, true, true, false));
  Job taken(
      "%0 = range(stop=30)\n%1 = map(%0, function={valid: .value})\n"
      "%2 = batch(%1, size=4)\n");
  taken.settings.remainder = "pad";
  EXPECT_THAT(taken.Pass(0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rename it")));
}

}  // namespace
}  // namespace millrace::client
