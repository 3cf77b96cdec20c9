#include "millrace/client/save.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/client/consumer.h"
#include "millrace/client/running_service_test.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"
#include "millrace/ops/saved_set.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::client {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class SaveTest : public testing::Test {
 protected:
  using Interrupt = std::function<bool(const SaveProgress&)>;

  // Numbers, of which each takes a moment.
  static ir::Pipeline Numbers(int64_t rows, const std::string& behind = "") {
    return Parsed(
        base::StrCat("%0 = range(stop=", rows,
                     ")\n%1 = map(%0, function={x: .value, t: to_text(.value), "
                     "s: sum(range(20000 + .value % 2))})\n",
                     behind));
  }

  std::string Folder(const std::string& name = "saved") const { return folder_ / name; }

  SaveOptions To(const Service& service, Interrupt interrupt = nullptr) const {
    SaveOptions options = {.folder = Folder()};
    options.service.dispatcher = service.address();
    options.service.open_within = absl::Seconds(30);
    options.interrupt = std::move(interrupt);
    return options;
  }

  static Interrupt StopAt(int64_t done) {
    return [done](const SaveProgress& progress) { return progress.done >= done; };
  }

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(Folder())) {
      names.insert(file.path().filename());
    }
    return names;
  }

  std::vector<int64_t> Loaded(const std::string& more = "") const {
    const std::string text =
        base::StrCat("%0 = load(path=\"", Folder(), "\"", more, ")");
    return exec::Values<int64_t>(exec::Joined(exec::MustRun(text)), "x");
  }

  void ExpectLoads(int64_t rows) const {
    std::vector<int64_t> expected(rows);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(Loaded(), expected);
    const std::set<std::string> names = Names();
    EXPECT_TRUE(names.contains("saved.json"));
    EXPECT_FALSE(names.contains("saving.json") || names.contains("saving-state.json"));
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(SaveTest, RowsAreSavedInTheirOrderWhateverTheWorkersAndTheirNumber) {
  for (const int workers : {1, 3}) {
    Service service(workers);
    for (const int64_t rows : {0, 10, 1000}) {
      SaveOptions options = To(service);
      options.replace = true;
      const absl::StatusOr<SaveProgress> saved = Save(Numbers(rows), options);
      ASSERT_THAT(saved, IsOk());
      EXPECT_EQ(saved->rows, rows);
      EXPECT_EQ(saved->before, 0);
      EXPECT_GT(saved->bytes, rows * 8);
      ExpectLoads(rows);
      EXPECT_EQ(std::ssize(Names()), saved->done + 1);
    }
  }
}

TEST_F(SaveTest, LostWorkersCostTheirOpenLanesOnly) {
  Service service(2);
  bool lost = false;
  const auto lose = [&](const SaveProgress& progress) {
    if (progress.done >= 5 && !std::exchange(lost, true)) {
      service.LoseWorker();
      service.AddWorker();
    }
    return false;
  };
  ASSERT_THAT(Save(Numbers(2000), To(service, lose)), IsOk());
  EXPECT_TRUE(lost);
  ExpectLoads(2000);
}

TEST_F(SaveTest, ADispatcherThatStartsAgainIsNotNoticed) {
  Service service(2);
  bool restarted = false;
  const auto restart = [&](const SaveProgress& progress) {
    if (progress.done >= 5 && !std::exchange(restarted, true)) {
      service.RestartDispatcher();
    }
    return false;
  };
  ASSERT_THAT(Save(Numbers(2000), To(service, restart)), IsOk());
  EXPECT_TRUE(restarted);
  ExpectLoads(2000);
}

TEST_F(SaveTest, WhatWasInterruptedIsGoneOnWithAlsoOnAnotherService) {
  {
    Service service(2);
    EXPECT_THAT(Save(Numbers(2000), To(service, StopAt(20))),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("lanes are there")));
  }
  EXPECT_TRUE(Names().contains("saving-state.json"));
  Service other(1);
  const absl::StatusOr<SaveProgress> saved = Save(Numbers(2000), To(other));
  ASSERT_THAT(saved, IsOk());
  EXPECT_GE(saved->before, 20);
  EXPECT_EQ(saved->done, saved->lanes);
  EXPECT_EQ(saved->rows, 2000);
  ExpectLoads(2000);
}

// As if the process had been killed at any of its writes.
TEST_F(SaveTest, ItGoesOnFromWhateverAKilledOneLeft) {
  Service service(2);
  storage::FailingStore store(storage::ProcessFiles());
  int64_t fails_at = 0;
  while (true) {
    SaveOptions failing = {
        .folder = Folder(), .listen = absl::Milliseconds(10), .store = store};
    failing.service = To(service).service;
    store.FailAt(fails_at);
    if (Save(Numbers(40), failing).ok()) break;
    fails_at += 1 + fails_at / 3;
  }
  EXPECT_GT(fails_at, 40);
  ExpectLoads(40);
}

TEST_F(SaveTest, WhatIsThereIsReplacedOnlyWhenAskedFor) {
  Service service(1);
  ASSERT_THAT(Save(Numbers(100), To(service)), IsOk());
  EXPECT_THAT(Save(Numbers(10), To(service)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr(Folder()), HasSubstr("replaced"))));
  ExpectLoads(100);
  SaveOptions options = To(service);
  options.replace = true;
  ASSERT_THAT(Save(Numbers(10), options), IsOk());
  ExpectLoads(10);
}

TEST_F(SaveTest, AnotherPipelineFormatOrSeedDoesNotGoOnWithWhatWasBegun) {
  Service service(1);
  const std::string shuffle = "%2 = shuffle(%1, window=10)\n";
  SaveOptions first = To(service, StopAt(5));
  first.seed = 7;
  EXPECT_THAT(Save(Numbers(1000, shuffle), first),
              StatusIs(absl::StatusCode::kCancelled));
  const auto expect_refused = [&](const ir::Pipeline& pipeline,
                                  const SaveOptions& options, const std::string& why) {
    EXPECT_THAT(Save(pipeline, options),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         AllOf(HasSubstr(why), HasSubstr("replaced"))));
  };
  expect_refused(Numbers(1001, shuffle), To(service), "another pipeline");
  SaveOptions other = To(service);
  other.seed = 8;
  expect_refused(Numbers(1000, shuffle), other, "seed 7");
  const std::string key = "%2 = map(%1, function={__key__: .t, cls: .x})\n";
  SaveOptions tar = To(service, StopAt(5));
  tar.format = "tar";
  tar.replace = true;
  EXPECT_THAT(Save(Numbers(1000, key), tar), StatusIs(absl::StatusCode::kCancelled));
  expect_refused(Numbers(1000, key), To(service), "format tar");
}

TEST_F(SaveTest, TwoDoNotSaveToOneFolderAtOnce) {
  Service service(1);
  std::atomic<bool> ends = false;
  std::atomic<int64_t> done = 0;
  auto saving = std::async(std::launch::async, [&] {
    return Save(Numbers(100'000), To(service, [&](const SaveProgress& progress) {
                  done = progress.done;
                  return ends.load();
                }));
  });
  while (done < 1) base::RealClock().WaitFor(absl::Milliseconds(20), {});
  EXPECT_THAT(Save(Numbers(100'000), To(service)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another process is saving there")));
  ends = true;
  EXPECT_THAT(saving.get(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(SaveTest, ManySaveToTheirOwnFolders) {
  Service service(2);
  std::vector<std::future<absl::Status>> saving;
  for (const std::string name : {"a", "b", "c"}) {
    saving.push_back(std::async(std::launch::async, [&, name] {
      SaveOptions options = {.folder = Folder(name)};
      options.service = To(service).service;
      return Save(Numbers(300), options).status();
    }));
  }
  for (auto& status : saving) EXPECT_THAT(status.get(), IsOk());
}

TEST_F(SaveTest, WhatCannotBeSavedIsToldBeforeAnythingIsWritten) {
  Service service(1);
  const auto expect_refused = [&](const std::string& text, const std::string& format,
                                  const std::string& why) {
    SaveOptions options = To(service);
    options.format = format;
    EXPECT_THAT(Save(Parsed(text), options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
    EXPECT_FALSE(std::filesystem::exists(Folder()));
  };
  expect_refused("%0 = range(stop=10)\n%1 = repeat(%0)\n", "frames", "without end");
  expect_refused("%0 = range(stop=10)\n", "tar", "cannot hold");
  expect_refused("%0 = range(stop=10)\n", "paper", "no format");
}

TEST_F(SaveTest, AFunctionThatFailsEndsItWithItsError) {
  Service service(2);
  const ir::Pipeline fails = Parsed(
      "%0 = range(stop=1000)\n"
      "%1 = map(%0, function={x: take(range(700), .value)})\n");
  const absl::StatusOr<SaveProgress> saved = Save(fails, To(service));
  EXPECT_FALSE(saved.ok());
  const absl::StatusOr<ops::UnfinishedSet> told =
      ops::ReadUnfinishedSet(storage::ProcessFiles(), Folder());
  ASSERT_THAT(told, IsOk());
  EXPECT_NE(told->failed, "");
}

TEST_F(SaveTest, ALoadThatWaitsReadsEveryRowWhileItIsSaved) {
  Service service(2);
  std::promise<void> begun;
  bool told = false;
  auto saving = std::async(std::launch::async, [&] {
    return Save(Numbers(3000), To(service, [&](const SaveProgress& progress) {
                  if (progress.done > 0 && !std::exchange(told, true)) {
                    begun.set_value();
                  }
                  return false;
                }));
  });
  begun.get_future().wait();
  std::vector<int64_t> expected(3000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_FALSE(Names().contains("saved.json"));
  EXPECT_EQ(Loaded(", wait=30.0"), expected);
  EXPECT_THAT(saving.get(), IsOk());
  EXPECT_EQ(Loaded(", wait=30.0"), expected);  // Also when it is complete.
}

}  // namespace
}  // namespace millrace::client
