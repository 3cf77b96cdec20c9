#include "millrace/cli/status_view.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/operations.h"

namespace millrace::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

api::JobSummary Job() {
  api::JobSummary job{.job = 1, .name = "train", .order = "fixed", .consumers = 4};
  job.consumers_heard = 3;
  job.lanes = 100;
  job.pass = 2;
  job.taken = 1200;
  job.lanes_placed = 16;
  job.heard_ms = 300;
  job.state = "running";
  job.seed = 7;
  job.workers = 2;
  job.batches_per_second = 31.25;
  return job;
}

api::WorkerSummary Worker() {
  api::WorkerSummary worker{.lanes = 3, .heard_ms = 130'000};
  worker.facts.address = "10.0.0.7:4000";
  worker.facts.host = "node7";
  worker.facts.tags = {"gpu", "large"};
  worker.facts.lanes_max = 64;
  return worker;
}

api::NoticeSummary Notice(int64_t number) {
  return {.number = number,
          .ago_ms = 1000 * (10 - number),
          .what = "worker lost",
          .name = "10.0.0.7:4000"};
}

TEST(StatusViewTest, ShowsJobs) {
  EXPECT_EQ(ShowJobs({.jobs = {Job()}}),
            "name   consumers  pass  batches  batches/s  left out  lanes      workers  "
            "heard  "
            "state    order  seed\n"
            "train  3 of 4        2     1200       31.2         0  16 of 100        2  "
            "0.3 s  "
            "running  fixed  7\n");
  EXPECT_EQ(ShowJobs({}), "There are no jobs.\n");
}

TEST(StatusViewTest, AJobWithoutAnEndOrANameIsShown) {
  api::JobSummary job = Job();
  job.name = "";
  job.lanes = -1;
  const std::string text = ShowJobs({.jobs = {job}});
  EXPECT_THAT(text, HasSubstr("(job 1)"));
  EXPECT_THAT(text, HasSubstr("16 of endless"));
}

TEST(StatusViewTest, SaysHowJobsShareTheirRows) {
  api::JobSummary job = Job();
  job.share = "0123456789abcdef";
  job.sharers = 2;
  job.visits = {.made = 70, .shared = 20, .again = 8, .skipped = 2, .lag = 5};
  job.visits.window_bytes = 3 << 20;
  EXPECT_THAT(
      ShowJobs({.jobs = {job}}),
      HasSubstr("  train: in group 01234567 of 2; rows made 70, shared 20, made "
                "again 8, skipped 2; 5 rows behind; windows 3.1 MB\n"));
  job.group = "search";
  EXPECT_THAT(ShowJobs({.jobs = {job}}), HasSubstr("in group \"search\" of 2;"));
  EXPECT_THAT(ShowJobs({.jobs = {Job()}}), Not(HasSubstr("group")));
}

TEST(StatusViewTest, SaysWhoWaitsForWhat) {
  api::JobSummary job = Job();
  job.waiting = {{.consumer = 3,
                  .waits_ms = 2500,
                  .lane = {.pass = 2, .lane = 9},
                  .worker = "10.0.0.7:4000"},
                 {.consumer = 1, .member = 2, .lane = {.pass = 2, .lane = 8}}};
  const std::string text = ShowJobs({.jobs = {job}});
  EXPECT_THAT(text,
              HasSubstr("  train: consumer 3 waits 2.5 s for lane 9 of pass 2, on "
                        "worker 10.0.0.7:4000\n"));
  EXPECT_THAT(text, HasSubstr("  train: consumer 1, member 2 waits 0.0 s for lane 8 of "
                              "pass 2, which no worker runs\n"));
}

TEST(StatusViewTest, ShowsWorkers) {
  api::WorkerSummary leaving = Worker();
  leaving.draining = true;
  leaving.facts.python = true;
  leaving.facts.memory_bytes = 2'000'000'000;
  leaving.facts.index = 1;
  leaving.facts.of = 4;
  EXPECT_EQ(ShowWorkers({.workers = {Worker(), leaving}}),
            "address        host   lanes    heard  state    memory  python  index   "
            "tags\n"
            "10.0.0.7:4000  node7  3 of 64  2 min  working          no              "
            "gpu,large\n"
            "10.0.0.7:4000  node7  3 of 64  2 min  leaving  2.0 GB  yes     1 of 4  "
            "gpu,large\n");
  EXPECT_THAT(ShowWorkers({}), HasSubstr("millrace worker --join"));
}

TEST(StatusViewTest, ShowsTheLatestNoticesFirst) {
  const api::NoticeList list = {.notices = {Notice(1), Notice(2), Notice(3)}};
  EXPECT_EQ(ShowNotices(list, 2),
            "  ago  what         to             why\n"
            "7.0 s  worker lost  10.0.0.7:4000\n"
            "8.0 s  worker lost  10.0.0.7:4000\n");
  EXPECT_THAT(ShowNotices({}, 2), HasSubstr("Nothing"));
}

ServiceView View() {
  ServiceView view{.address = "127.0.0.1:7171"};
  view.status = {.ready = true, .jobs = 1, .workers = 1, .workers_draining = 1};
  view.jobs = {.jobs = {Job()}};
  view.workers = {.workers = {Worker()}};
  view.notices = {.notices = {Notice(1), Notice(2)}};
  return view;
}

TEST(StatusViewTest, AFrameHasAllOfIt) {
  const std::string text = absl::StrJoin(Frame(View()), "\n");
  EXPECT_THAT(text,
              StartsWith("Millrace at 127.0.0.1:7171  ready  jobs 1  workers 1 (1 "
                         "leaving)  lanes 0 run, 0 wait\n\nJOBS\nname"));
  EXPECT_THAT(text, HasSubstr("\n\nWORKERS\naddress"));
  EXPECT_THAT(text, HasSubstr("\n\nLATELY\n  ago"));
}

TEST(StatusViewTest, AFrameIsFittedIntoTheWindow) {
  const std::vector<std::string> lines = {"one", "two", "three", "four"};
  EXPECT_THAT(Fitted(lines, 4, 3), ElementsAre("one", "two", "thr", "fou"));
  const std::vector<std::string> fewer = Fitted(lines, 3, 80);
  EXPECT_THAT(fewer, ElementsAre("one", "two", StartsWith("(2 more lines")));
  EXPECT_THAT(Fitted(lines, 0, 0), SizeIs(1)) << "a window that is not known";
}

TEST(StatusViewTest, PlainLinesTellEachNoticeOnce) {
  int64_t noticed = 0;
  const absl::Time now = absl::UnixEpoch() + absl::Seconds(3661);
  ServiceView view = View();
  EXPECT_THAT(
      PlainLines(view, now, noticed),
      ElementsAre("01:01:01 worker lost 10.0.0.7:4000",
                  "01:01:01 worker lost 10.0.0.7:4000",
                  "01:01:01 job train: running; pass 2, 1200 batches, 31.2/s, 2 "
                  "workers"));
  EXPECT_EQ(noticed, 2);
  view.notices.notices.push_back(Notice(3));
  view.notices.notices.back().why = "it was silent";
  EXPECT_THAT(PlainLines(view, now, noticed),
              ElementsAre("01:01:01 worker lost 10.0.0.7:4000: it was silent",
                          StartsWith("01:01:01 job train")));
  view.jobs = {};
  EXPECT_THAT(PlainLines(view, now, noticed),
              ElementsAre(StartsWith("01:01:01 Millrace at")));
}

TEST(StatusViewTest, NamesOfOthersCannotCommandTheTerminal) {
  ServiceView view = View();
  view.jobs.jobs[0].name = "a\x1b[2J";
  view.jobs.jobs[0].waiting = {{.worker = "\x1b[2J"}};
  view.workers.workers[0].facts.host = "\x1b]0;x";
  view.notices.notices[0].why = "\x1b[31m";
  view.status.ready = false;
  view.status.waits_for = "\x1b[31m";
  int64_t noticed = 0;
  for (const std::vector<std::string>& lines :
       {Frame(view), PlainLines(view, absl::UnixEpoch(), noticed)}) {
    EXPECT_THAT(absl::StrJoin(lines, "\n"), Not(HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace millrace::cli
