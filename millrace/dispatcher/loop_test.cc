#include "millrace/dispatcher/loop.h"

#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/operations.h"
#include "millrace/api/route.h"
#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/metadata/memory_store.h"
#include "millrace/metadata/metadata_store.h"

namespace millrace::dispatcher {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kLongWaitMs = 20'000;

// Asks, and gives the answer when it comes.
template <typename Reply, typename Request>
std::future<absl::StatusOr<Reply>> Ask(Loop& loop, const Request& request) {
  auto promise = std::make_shared<std::promise<absl::StatusOr<Reply>>>();
  std::future<absl::StatusOr<Reply>> future = promise->get_future();
  loop.Ask(request, [promise](absl::StatusOr<Reply> reply) {
    promise->set_value(std::move(reply));
  });
  return future;
}

api::OpenJob OpenAs(int64_t consumer, int64_t consumers) {
  api::OpenJob open;
  open.settings.name = "job";
  open.settings.pipeline = "text";
  open.settings.consumers = consumers;
  open.settings.remainder = "drop";
  open.consumer = consumer;
  open.opening = 1;
  open.wait_ms = kLongWaitMs;
  return open;
}

api::WorkerBeat Join(int64_t worker) {
  api::WorkerBeat beat{.worker = worker};
  beat.facts = api::WorkerFacts{.worker = worker, .address = "127.0.0.1:1"};
  return beat;
}

// A worker that joins, is told to list the job, and does.
void ListAs(Loop& loop, int64_t worker) {
  absl::StatusOr<api::WorkerNews> news = Ask<api::WorkerNews>(loop, Join(worker)).get();
  ASSERT_THAT(news, IsOk());
  while (news->jobs.empty()) {
    api::WorkerBeat beat{.worker = worker, .version = news->version};
    beat.wait_ms = kLongWaitMs;
    news = Ask<api::WorkerNews>(loop, beat).get();
    ASSERT_THAT(news, IsOk());
  }
  api::WorkerBeat listed{.worker = worker};
  listed.listed.push_back({.job = news->jobs[0].job});
  listed.listed[0].facts.manifest = "hash";
  ASSERT_THAT(Ask<api::WorkerNews>(loop, listed).get(), IsOk());
}

TEST(LoopTest, LetsConsumersWaitForEachOtherAndForTheListing) {
  metadata::MemoryStore store;
  const std::unique_ptr<Loop> loop = Loop::Start(store, {}).value();
  auto first = Ask<api::OpenedJob>(*loop, OpenAs(0, 2));
  auto second = Ask<api::OpenedJob>(*loop, OpenAs(1, 2));
  ListAs(*loop, 7);
  const absl::StatusOr<api::OpenedJob> opened = first.get();
  ASSERT_THAT(opened, IsOk());
  EXPECT_TRUE(opened->ready);
  EXPECT_EQ(opened->facts.manifest, "hash");
  EXPECT_EQ(second.get()->incarnation, opened->incarnation);
}

TEST(LoopTest, SaysWhatIsWaitedForWhenTheTimeIsOver) {
  metadata::MemoryStore store;
  const std::unique_ptr<Loop> loop = Loop::Start(store, {}).value();
  api::OpenJob open = OpenAs(0, 3);
  open.wait_ms = 1;
  const absl::StatusOr<api::OpenedJob> opened = Ask<api::OpenedJob>(*loop, open).get();
  ASSERT_THAT(opened, IsOk());
  EXPECT_FALSE(opened->ready);
  EXPECT_THAT(opened->waits_for, HasSubstr("1, 2"));
}

TEST(LoopTest, RefusesAtOnceWhatMakesNoSense) {
  metadata::MemoryStore store;
  const std::unique_ptr<Loop> loop = Loop::Start(store, {}).value();
  api::OpenJob open = OpenAs(0, 1);
  open.settings.order = "sideways";
  EXPECT_THAT(Ask<api::OpenedJob>(*loop, open).get(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sideways")));
}

TEST(LoopTest, KeepsObjectsByTheirHash) {
  metadata::MemoryStore store;
  const std::unique_ptr<Loop> loop = Loop::Start(store, {}).value();
  const api::PutObject put{"abc", "some text"};
  EXPECT_THAT(Ask<api::Nothing>(*loop, put).get(), IsOk());
  EXPECT_THAT(Ask<api::Nothing>(*loop, put).get(), IsOk()) << "again";
  EXPECT_EQ(Ask<api::Object>(*loop, api::GetObject{"abc"}).get()->text, "some text");
  EXPECT_THAT(Ask<api::Object>(*loop, api::GetObject{"xyz"}).get(),
              StatusIs(StatusCode::kNotFound));
}

TEST(LoopTest, GoesOnFromWhatItsStoreHasKept) {
  metadata::MemoryStore store;
  int64_t job = 0;
  {
    const std::unique_ptr<Loop> loop = Loop::Start(store, {}).value();
    auto opened = Ask<api::OpenedJob>(*loop, OpenAs(0, 1));
    ListAs(*loop, 7);
    job = opened.get()->job;
  }
  for (const int64_t snapshot_after : {1, 10'000}) {
    const LoopOptions options{.snapshot_after = snapshot_after};
    const std::unique_ptr<Loop> loop = Loop::Start(store, options).value();
    const absl::StatusOr<api::OpenedJob> again =
        Ask<api::OpenedJob>(*loop, OpenAs(0, 1)).get();
    ASSERT_THAT(again, IsOk());
    EXPECT_TRUE(again->ready) << "the same opening, asked again";
    EXPECT_EQ(again->job, job);
    EXPECT_EQ(again->generation, 1);
  }
}

TEST(LoopTest, TellsTheLastHundredNotices) {
  metadata::MemoryStore store;
  const std::unique_ptr<Loop> loop = Loop::Start(store, {}).value();
  for (int64_t worker = 1; worker <= 120; ++worker) {
    ASSERT_THAT(Ask<api::WorkerNews>(*loop, Join(worker)).get(), IsOk());
  }
  const absl::StatusOr<api::NoticeList> list =
      Ask<api::NoticeList>(*loop, api::ListNotices{}).get();
  ASSERT_THAT(list, IsOk());
  ASSERT_THAT(list->notices, SizeIs(100));
  EXPECT_EQ(list->notices.front().number, 21);
  EXPECT_EQ(list->notices.back().number, 120);
  EXPECT_EQ(list->notices.back().what, "worker joined");
  EXPECT_EQ(list->notices.back().name, "127.0.0.1:1");
  EXPECT_GE(list->notices.back().ago_ms, 0);
}

TEST(LoopTest, AnswersThoseWhoWaitWhenItEnds) {
  metadata::MemoryStore store;
  std::unique_ptr<Loop> loop = Loop::Start(store, {}).value();
  auto waits = Ask<api::OpenedJob>(*loop, OpenAs(0, 2));
  loop.reset();
  EXPECT_THAT(waits.get(), StatusIs(StatusCode::kUnavailable));
}

// A store that is full.
class FullStore final : public metadata::MetadataStore {
 public:
  absl::StatusOr<Kept> Load() override { return Kept{}; }

  absl::Status Append(absl::Span<const std::string>) override {
    return absl::ResourceExhaustedError("no space left on the device");
  }

  absl::Status Snapshot(std::string_view) override { return absl::OkStatus(); }

  absl::Status PutObject(std::string_view, std::string_view) override {
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> GetObject(std::string_view) override { return ""; }

  absl::Status DropObjectsExcept(absl::Span<const std::string>) override {
    return absl::OkStatus();
  }
};

TEST(LoopTest, LetsNoReplyGoThatIsNotWrittenDown) {
  FullStore store;
  const std::unique_ptr<Loop> loop = Loop::Start(store, {}).value();
  api::OpenJob open = OpenAs(0, 1);
  open.wait_ms = 1;
  EXPECT_THAT(Ask<api::OpenedJob>(*loop, open).get(),
              StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(loop->WaitForFailure({}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("no space")));
  EXPECT_THAT(Ask<api::OpenedJob>(*loop, open).get(),
              StatusIs(StatusCode::kUnavailable))
      << "it has ended";
}

}  // namespace
}  // namespace millrace::dispatcher
