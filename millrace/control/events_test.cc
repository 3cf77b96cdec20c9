// The journal outlives the program that wrote it: these lines must be read and written
// alike for ever. Members may be added; a line here never changes but by that.
#include "millrace/control/events.h"

#include <cstddef>
#include <regex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/control/rights.h"

namespace millrace::control {
namespace {

using base::IsOk;
using base::StatusIs;

struct Golden {
  Event event;
  std::string line;  // Less the members that are null.
};

api::JobSettings Settings() {
  api::JobSettings settings{.name = "train", .pipeline = "hash"};
  settings.consumers = 8;
  settings.remainder = "drop";
  settings.tags = {"gpu"};
  settings.seed = 7;
  return settings;
}

constexpr char kSettings[] =
    R"({"name":"train","pipeline":"hash","consumers":8,"members":1,"order":"fixed",)"
    R"("visit":"exactly_once","remainder":"drop","sharding":"dynamic","target":"any",)"
    R"("tags":["gpu"],"global_batch":false,"open_lanes":0,"seed":7,"packages":[],)"
    R"("share":"auto","share_hold_ms":0})";

std::vector<Golden> Lines() {
  const std::string settings = kSettings;
  return {
      {{.job_made = JobMade{1, Settings(), 7}},
       R"("job_made":{"job":1,"settings":)" + settings + R"(,"seed":7})"},
      {{.job_listed = JobListed{1, {"sha", 100, true, 256, 4096, true}}},
       R"("job_listed":{"job":1,"facts":{"manifest":"sha","lanes":100,"counted":true,)"
       R"("batch_rows":256,"lane_bytes":4096,"python":true,"rows":-1,)"
       R"("drop_remainder":false,"group":1,"rows_hash":"","cuts":"","joins":0,)"
       R"("grid":0}})"},
      {{.run_begun = RunBegun{1, 2, {"slurm-1", 3, "a"}, Settings(), "{}", 4}},
       R"("run_begun":{"job":1,"incarnation":2,"run":{"id":"slurm-1","restart":3,)"
       R"("host":"a"},"settings":)" +
           settings + R"(,"state":"{}","copies":4,"first_pass":0})"},
      {{.member_opened = MemberOpened{1, 2, 3, 4, 1700000000000, "a"}},
       R"("member_opened":{"job":1,"consumer":2,"member":3,"generation":4,)"
       R"("opening":1700000000000,"host":"a"})"},
      {{.lane_ended = LaneEnded{1, 2, {3, 4}, 500}},
       R"("lane_ended":{"job":1,"incarnation":2,"at":{"pass":3,"lane":4,)"
       R"("right":0},"rows":500,"tails":[]})"},
      {{.lanes_passed = LanesPassed{1, 2, {{3, 4}, {3, 5}}}},
       R"("lanes_passed":{"job":1,"incarnation":2,"lanes":[{"pass":3,"lane":4,)"
       R"("right":0},{"pass":3,"lane":5,"right":0}]})"},
      {{.pass_changed = PassChanged{1, 2, 3, {.leased = Lease{4, {{5, 6}}}}}},
       R"("pass_changed":{"job":1,"incarnation":2,"pass":3,"change":{"leased":)"
       R"({"consumer":4,"ranges":[{"begin":5,"end":6}]}}})"},
      {{.pass_changed = PassChanged{1, 2, 3, {.moved = Move{{4, 5, 6, 7}, 8}}}},
       R"("pass_changed":{"job":1,"incarnation":2,"pass":3,"change":{"moved":)"
       R"({"rows":{"number":4,"begin":5,"end":6,"to":7},"group":8}}})"},
      {{.pass_changed = PassChanged{1, 2, 3, {.finished = api::RightPlace{4, 5}}}},
       R"("pass_changed":{"job":1,"incarnation":2,"pass":3,"change":{"finished":)"
       R"({"number":4,"row":5}}})"},
      {{.pass_over = PassOver{1, 2, 3}},
       R"("pass_over":{"job":1,"incarnation":2,"pass":3})"},
      {{.started = Started{3}}, R"("started":{"number":3})"},
      {{.state_told = StateTold{1, 2, 3, "{}"}},
       R"("state_told":{"job":1,"incarnation":2,"consumer":3,"state":"{}"})"},
      {{.job_forgotten = JobForgotten{1}}, R"("job_forgotten":{"job":1})"},
  };
}

// Takes out the members that are null: they say nothing.
std::string WithoutNulls(std::string line) {
  for (const char* name : {"job_made", "job_listed", "run_begun", "member_opened",
                           "lane_ended", "lanes_passed", "pass_changed", "pass_over",
                           "state_told", "started", "job_forgotten", "begun", "leased",
                           "counted", "moved", "finished", "redone", "late"}) {
    const std::string null = "\"" + std::string(name) + "\":null";
    const size_t at = line.find(null);
    if (at == std::string::npos) continue;
    line.erase(at, null.size() + (line[at + null.size()] == ',' ? 1 : 0));
  }
  line = std::regex_replace(line, std::regex(R"("copies":4,"seed":null)"),
                            R"("copies":4)");
  return std::regex_replace(line, std::regex(",}"), "}");
}

TEST(EventsTest, LinesOfTheJournalAreWrittenAsEver) {
  for (const Golden& golden : Lines()) {
    EXPECT_EQ(WithoutNulls(ToLine(golden.event)), "{" + golden.line + "}");
  }
}

TEST(EventsTest, LinesOfTheJournalAreReadAsEver) {
  for (const Golden& golden : Lines()) {
    const auto read = FromLine("{" + golden.line + "}");
    ASSERT_THAT(read, IsOk()) << golden.line;
    EXPECT_EQ(ToLine(*read), ToLine(golden.event));
  }
}

// And one that an earlier version wrote: what it did not say is not known.
TEST(EventsTest, WhatAnEarlierVersionDidNotSayIsNotKnown) {
  const auto read = FromLine(R"({"job_listed":{"job":1,"facts":{"lanes":100}}})");
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->job_listed->facts.rows, -1);
}

// A journal that a later version wrote can be read by this one.
TEST(EventsTest, WhatALaterVersionAddsIsPassedOver) {
  const auto read =
      FromLine(R"({"job_forgotten":{"job":3,"why":"idle"},"lane_leased":{"right":9}})");
  ASSERT_THAT(read, IsOk());
  ASSERT_TRUE(read->job_forgotten.has_value());
  EXPECT_EQ(read->job_forgotten->job, 3);
}

TEST(EventsTest, AnEventIsOneLine) {
  for (const Golden& golden : Lines()) {
    EXPECT_EQ(ToLine(golden.event).find('\n'), std::string::npos);
  }
}

TEST(EventsTest, WhatIsNoEventIsAnError) {
  EXPECT_THAT(FromLine(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(FromLine(R"({"job_forgotten":{"job":"one"}})"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace::control
