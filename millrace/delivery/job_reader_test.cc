#include "millrace/delivery/job_reader.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/error.h"
#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/base/status_matchers.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/rest.h"

namespace millrace::delivery {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::MakeId;
using base::StatusIs;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr WorkerId kWorker = MakeId<WorkerId>(1);

// A pass of two lanes of four rows, in batches of two, on two tracks.
BegunPass Fixed(int64_t pass) {
  FixedReaderOptions options{.pass = pass};
  options.batching.rows = 2;
  options.batch_bytes = 1;
  return {std::make_unique<FixedReader>(options, lanes::DealAll({4, 4}, 2))};
}

BegunPass Any(int64_t pass) {
  AnyReaderOptions options{.pass = pass};
  options.batching.rows = 2;
  const api::PassFacts facts{.pass = pass, .lanes = 2, .batch_rows = 2};
  return {std::make_unique<AnyReader>(options, std::vector<int64_t>{4, 4}), facts};
}

api::WorkerMessage Batch(int64_t pass, int64_t lane, int64_t begin) {
  api::WorkerMessage message;
  message.batch = api::BatchHead{{pass, lane}, begin, begin + 2, false, 10};
  return message;
}

std::vector<api::Want> WantsIn(std::vector<ReaderAction> actions) {
  std::vector<api::Want> wants;
  for (const ReaderAction& action : actions) {
    const auto* const send = std::get_if<SendWants>(&action);
    if (send == nullptr) continue;
    wants.insert(wants.end(), send->message.wants.begin(), send->message.wants.end());
  }
  return wants;
}

api::ConsumerNews Placed(std::vector<api::LaneAddress> lanes) {
  api::ConsumerNews news;
  for (const api::LaneAddress& at : lanes) news.placed.push_back({at, 1});
  return news;
}

TEST(JobReaderTest, TheNextPassBeginsOnceNoLaneIsLeftToOpen) {
  JobReader job({});
  FixedReaderOptions options{.pass = 3};
  options.batching.rows = 2;
  job.Begin({std::make_unique<FixedReader>(options, lanes::DealAll({4, 4, 4}, 2))});
  EXPECT_EQ(job.pass(), 3);
  EXPECT_EQ(job.wants_pass(), std::nullopt) << "its third lane comes first";
  JobReader other({});
  other.Begin(Fixed(3));
  EXPECT_EQ(other.wants_pass(), 4);
  other.Begin(Fixed(4));
  EXPECT_EQ(other.pass(), 3) << "it is not taken from yet";
  EXPECT_EQ(other.wants_pass(), std::nullopt) << "one ahead is enough";
}

TEST(JobReaderTest, WhatIsAheadIsNeededLater) {
  JobReader job({});
  job.Begin(Fixed(0));
  job.Begin(Fixed(1));
  std::vector<LaneNeed> ahead;
  for (const LaneNeed& need : job.Needs()) {
    if (need.at.pass == 1) {
      ahead.push_back(need);
    } else {
      EXPECT_TRUE(need.now);
    }
  }
  EXPECT_THAT(ahead, AllOf(SizeIs(2), Each(Field(&LaneNeed::now, false))));
  job.GoTo(1);
  EXPECT_THAT(job.Needs(), AllOf(SizeIs(2), Each(Field(&LaneNeed::now, true))));
}

TEST(JobReaderTest, NewsAndBatchesReachThePassThatTheyAreAbout) {
  JobReader job({});
  job.Begin(Fixed(0));
  job.Begin(Fixed(1));
  ASSERT_THAT(job.OnNews(Placed({{0, 0}, {1, 0}})), IsOk());
  EXPECT_THAT(WantsIn(job.TakeActions()),
              testing::Contains(api::Want{{1, 0}, 0, 2, 0}));
  ASSERT_THAT(job.OnWorker(kWorker, Batch(1, 0, 0), MakeId<Token>(7)), IsOk());
  EXPECT_EQ(job.current().ready(), PassReader::Ready::kWait);
  job.GoTo(1);
  EXPECT_EQ(job.current().ready(), PassReader::Ready::kBatch);
  EXPECT_EQ(job.Take().parts.at(0).token, MakeId<Token>(7));
}

TEST(JobReaderTest, ThePassAheadMayUseWhatThisOneLeaves) {
  JobReader job({.credit_bytes = 40});
  job.Begin(Fixed(0));
  ASSERT_THAT(job.OnNews(Placed({{0, 0}, {0, 1}})), IsOk());
  job.TakeActions();
  for (const int64_t lane : {0, 1}) {
    for (const int64_t row : {0, 2}) {
      ASSERT_THAT(job.OnWorker(kWorker, Batch(0, lane, row), MakeId<Token>(row)),
                  IsOk());
    }
  }
  job.Begin(Fixed(1));
  ASSERT_THAT(job.OnNews(Placed({{1, 0}, {1, 1}})), IsOk());
  job.TakeActions();
  EXPECT_LE(job.current().credit().used(), 40);
  EXPECT_EQ(job.current().credit().used(), 40) << "four batches of ten bytes";
}

TEST(JobReaderTest, APassThatIsLeftIsWantedNoMore) {
  JobReader job({});
  job.Begin(Fixed(0));
  ASSERT_THAT(job.OnNews(Placed({{0, 0}, {0, 1}})), IsOk());
  job.TakeActions();
  ASSERT_THAT(job.OnWorker(kWorker, Batch(0, 0, 0), MakeId<Token>(1)), IsOk());
  job.StartOver(Fixed(5));
  EXPECT_EQ(job.pass(), 5);
  int forgotten = 0;
  int dropped = 0;
  for (const ReaderAction& action : job.TakeActions()) {
    if (const auto* const send = std::get_if<SendWants>(&action)) {
      forgotten += static_cast<int>(send->message.forget.size());
    } else {
      ++dropped;
    }
  }
  EXPECT_EQ(forgotten, 2);
  EXPECT_EQ(dropped, 1);
  ASSERT_THAT(job.OnWorker(kWorker, Batch(0, 0, 2), MakeId<Token>(2)), IsOk());
  EXPECT_THAT(job.TakeActions(), SizeIs(1)) << "what comes late is dropped";
}

TEST(JobReaderTest, APassCanBeStartedOver) {
  JobReader job({});
  job.Begin(Fixed(0));
  ASSERT_THAT(job.OnNews(Placed({{0, 0}, {0, 1}})), IsOk());
  ASSERT_THAT(job.OnWorker(kWorker, Batch(0, 0, 0), MakeId<Token>(1)), IsOk());
  job.Take();
  job.StartOver(Fixed(0));
  EXPECT_EQ(job.Beat().taken, 1) << "in this start, whatever the pass";
  ASSERT_THAT(job.OnNews(Placed({{0, 0}, {0, 1}})), IsOk());
  EXPECT_THAT(WantsIn(job.TakeActions()),
              testing::Contains(api::Want{{0, 0}, 0, 2, 0}));
}

TEST(JobReaderTest, InAnyOrderPassesAreKeptUntilAllHaveGoneOn) {
  JobReader job({});
  job.Begin(Any(0));
  EXPECT_EQ(job.wants_pass(), std::nullopt);
  api::ConsumerBeat beat = job.Beat();
  ASSERT_THAT(beat.passes, SizeIs(1));
  EXPECT_EQ(beat.passes[0].facts->lanes, 2) << "until the dispatcher has heard of it";
  api::ConsumerNews news{.version = 1};
  news.passes.push_back({.pass = 0, .leased = true, .final = true});
  ASSERT_THAT(job.OnNews(news), IsOk());
  EXPECT_EQ(job.Beat().passes[0].facts, std::nullopt);
  EXPECT_EQ(job.wants_pass(), 1);
  job.Begin(Any(1));
  job.GoTo(1);
  EXPECT_THAT(job.Beat().passes, SizeIs(2)) << "others may need what it promised";
  news = {.version = 2};
  news.passes_over = 1;
  ASSERT_THAT(job.OnNews(news), IsOk());
  EXPECT_THAT(job.Beat().passes, ElementsAre(Field(&api::PassBeat::pass, 1)));
}

TEST(JobReaderTest, WhoHasTakenAllItHasTellsSoAtOnce) {
  JobReader job({});
  job.Begin(Any(0));
  api::ConsumerNews news{.version = 1};
  news.passes = {{.pass = 0, .rights = {{1, 0, 0, 2}}, .horizon = 9}};
  news.placed = {{{0, 0, 1}, 1}};
  ASSERT_THAT(job.OnNews(news), IsOk());
  job.Beat();
  EXPECT_FALSE(job.MustTell()) << "it waits for a worker";
  api::WorkerMessage batch = Batch(0, 0, 0);
  batch.batch->at.right = 1;
  ASSERT_THAT(job.OnWorker(kWorker, batch, MakeId<Token>(1)), IsOk());
  EXPECT_FALSE(job.MustTell()) << "it has something to take";
  job.Take();
  EXPECT_TRUE(job.MustTell());
  job.Beat();
  EXPECT_FALSE(job.MustTell()) << "it has told";
}

TEST(JobReaderTest, LanesThatNobodyRunsAreToldAtOnceButOnce) {
  JobReader job({});
  job.Begin(Fixed(0));
  EXPECT_TRUE(job.MustTell());
  EXPECT_FALSE(job.MustTell()) << "it has told";
  ASSERT_THAT(job.OnNews(Placed({{0, 0}, {0, 1}})), IsOk());
  EXPECT_FALSE(job.MustTell());
  ASSERT_THAT(job.OnWorker(kWorker, Batch(0, 0, 0), MakeId<Token>(1)), IsOk());
  job.Take();
  EXPECT_FALSE(job.MustTell()) << "batches come and go";
  job.OnWorkerGone(kWorker);
  EXPECT_TRUE(job.MustTell());
}

TEST(JobReaderTest, NewsThatWereOvertakenChangeNothing) {
  JobReader job({});
  job.Begin(Fixed(0));
  ASSERT_THAT(job.OnNews({.version = 5}), IsOk());
  api::ConsumerNews old = Placed({{0, 0}});
  old.version = 4;
  ASSERT_THAT(job.OnNews(old), IsOk());
  EXPECT_THAT(job.TakeActions(), IsEmpty());
  EXPECT_EQ(job.Beat().version, 5);
}

TEST(JobReaderTest, WhatIsWrongIsTold) {
  JobReader job({});
  job.Begin(Fixed(0));
  api::ConsumerNews news;
  news.failed = api::ToError(absl::DataLossError("a file has changed"));
  EXPECT_THAT(job.OnNews(news), StatusIs(StatusCode::kDataLoss));
  api::WorkerMessage refused;
  refused.refused = "taken over";
  EXPECT_THAT(job.OnWorker(kWorker, refused, MakeId<Token>(0)),
              StatusIs(StatusCode::kFailedPrecondition));
}

TEST(JobReaderTest, AFailedLaneIsAskedOfWhoeverRunsItNext) {
  JobReader job({});
  job.Begin(Fixed(0));
  ASSERT_THAT(job.OnNews(Placed({{0, 0}})), IsOk());
  EXPECT_THAT(WantsIn(job.TakeActions()), Not(IsEmpty()));
  api::WorkerMessage failure;
  failure.failure = api::LaneFailure{{0, 0}, {}};
  ASSERT_THAT(job.OnWorker(kWorker, failure, MakeId<Token>(0)), IsOk());
  ASSERT_THAT(job.OnNews(Placed({{0, 0}})), IsOk());
  EXPECT_THAT(WantsIn(job.TakeActions()), Not(IsEmpty()));
}

// --- What nobody should say ---

TEST(JobReaderTest, ABatchOfAbsurdSizeIsAnError) {
  for (const int64_t bytes : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    JobReader job({});
    job.Begin(Fixed(0));
    api::WorkerMessage message = Batch(0, 0, 0);
    message.batch->bytes = bytes;
    EXPECT_THAT(job.OnWorker(kWorker, message, MakeId<Token>(1)),
                StatusIs(StatusCode::kInvalidArgument));
  }
}

TEST(JobReaderTest, RowsThatCannotBeAreAnError) {
  JobReader job({});
  job.Begin(Fixed(0));
  api::WorkerMessage message = Batch(0, 0, -2);
  EXPECT_THAT(job.OnWorker(kWorker, message, MakeId<Token>(1)),
              StatusIs(StatusCode::kInvalidArgument, "there are no rows -2 to 0"));
  message = {.end = api::LaneEnd{{0, 0}, -1}};
  EXPECT_THAT(job.OnWorker(kWorker, message, MakeId<Token>(1)),
              StatusIs(StatusCode::kInvalidArgument));
  api::ConsumerNews news;
  news.known = {{{0, 0}, std::numeric_limits<int64_t>::max(), true}};
  EXPECT_THAT(job.OnNews(news), StatusIs(StatusCode::kInvalidArgument));
}

TEST(JobReaderTest, NewsOfRightsThatCannotBeAreAnError) {
  JobReader job({});
  job.Begin(Any(0));
  api::ConsumerNews news;
  news.passes = {{.pass = 0, .rights = {{1, 7, 0, 4}}}};
  EXPECT_THAT(job.OnNews(news), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(job.Needs(), IsEmpty());
}

}  // namespace
}  // namespace millrace::delivery
