// Every request and reply goes over the wire as it is: all members, in both directions,
// whatever a later version adds to them. What is said on streams is in stream_test.cc.
#include "millrace/api/service.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/described_test.h"
#include "millrace/api/error.h"
#include "millrace/api/stream.h"

namespace millrace::api {
namespace {

JobSettings Settings() {
  return {.name = "train",
          .pipeline = "hash",
          .consumers = 8,
          .members = 2,
          .order = "any",
          .visit = "at_most_once",
          .remainder = "pad",
          .sharding = "static",
          .target = "local",
          .tags = {"gpu", "fast"},
          .global_batch = true,
          .open_lanes = 16,
          .seed = -1,
          .packages = {{"python", "3.11.2"}, {"numpy", "2.0.1"}},
          .share = "search",
          .share_hold_ms = 250};
}

JobFacts Facts() {
  return {.manifest = "sha",
          .lanes = 100,
          .counted = true,
          .batch_rows = 256,
          .lane_bytes = 4096,
          .python = true,
          .rows = 25'600,
          .drop_remainder = true,
          .group = 8,
          .rows_hash = "rows",
          .cuts = "cuts",
          .joins = 32,
          .grid = 64};
}

WorkerJob Told() {
  return {.job = 1,
          .incarnation = 2,
          .pipeline = "hash",
          .manifest = "sha",
          .seed = 3,
          .copies = 4,
          .state = "{}",
          .cuts = "cuts",
          .share = "rows",
          .sharers = 5,
          .joins = 32,
          .grid = 64,
          .skips = true,
          .hold_ms = 250};
}

JobVisits Visits() {
  return {.job = 1,
          .incarnation = 2,
          .made = 3,
          .shared = 4,
          .again = 5,
          .skipped = 6,
          .joined = 7,
          .lag = 8,
          .window_bytes = 9};
}

WorkerFacts Worker() {
  return {.worker = 7,
          .address = "10.0.0.7:5050",
          .host = "b",
          .tags = {"gpu"},
          .lanes_max = 32,
          .memory_bytes = int64_t{1} << 40,
          .python = true,
          .index = 3,
          .of = 4,
          .packages = {{"numpy", "2.0.1"}}};
}

LaneReport Report() {
  return {.job = 1,
          .incarnation = 2,
          .at = {3, 4},
          .rows = 5,
          .ended = true,
          .released = true,
          .failed = Error{"DATA_LOSS", "\"x\" is cut off"},
          .tails = {1, 0, 2}};
}

TEST(ServiceTest, JobsGoOverTheWireAsTheyAre) {
  ExpectRoundTrip(Settings());
  ExpectRoundTrip(RunName{"slurm-1", 3, "a"});
  ExpectRoundTrip(Facts());
  ExpectRoundTrip(OpenJob{.settings = Settings(),
                          .run = {"slurm-1", 3, "a"},
                          .consumer = 5,
                          .member = 1,
                          .opening = 1'700'000'000'000,
                          .state = "{\"pass\":1}",
                          .resume = true,
                          .takeover = true,
                          .wait_ms = 9});
  ExpectRoundTrip(OpenedJob{.ready = true,
                            .waits_for = "consumer 3",
                            .opening = 7,
                            .job = 1,
                            .incarnation = 2,
                            .generation = 3,
                            .seed = 4,
                            .tracks = 16,
                            .copies = 2,
                            .state = "{}",
                            .facts = Facts(),
                            .heartbeat_ms = 500,
                            .differences = {"worker 7 has no numpy"},
                            .first_pass = 3});
}

TEST(ServiceTest, WhatConsumersSayAndHearGoesOverTheWireAsItIs) {
  ExpectRoundTrip(NeededLane{{1, 2}, 3, true});
  ExpectRoundTrip(KnownRows{{1, 2}, 3, true, {4, 5}});
  ExpectRoundTrip(ConsumerBeat{.reader = {1, 2, 3, 4, 5},
                               .number = 13,
                               .version = 6,
                               .pass = 7,
                               .taken = 8,
                               .left_out_rows = 14,
                               .needs = {{{1, 2}, 3, true}, {{1, 3}, 1, true}},
                               .known = {{{1, 2}, 3, true, {4}}},
                               .unreachable = {9, 10},
                               .waits_for = LaneAddress{1, 2},
                               .waits_ms = 11,
                               .wait_ms = 12,
                               .passes = {{.pass = 1, .hungry = true}},
                               .leaves = true,
                               .state = "{}"});
  ExpectRoundTrip(PutObject{"hash", "text"});
  ExpectRoundTrip(GetObject{"hash"});
  ExpectRoundTrip(Object{"text"});
  ExpectRoundTrip(PlacedLane{{1, 2}, -1});
  ExpectRoundTrip(WorkerPlace{7, "10.0.0.7:5050", "b"});
  ExpectRoundTrip(ConsumerNews{.version = 1,
                               .placed = {{{1, 2}, 7}},
                               .workers = {{7, "10.0.0.7:5050", "b"}},
                               .known = {{{1, 2}, 3, true, {4}}},
                               .tell_known = true,
                               .failed = Error{"INTERNAL", "why"},
                               .passes = {{.pass = 1, .leased = true}},
                               .passes_over = 1});
}

TEST(ServiceTest, WhatWorkersSayAndHearGoesOverTheWireAsItIs) {
  ExpectRoundTrip(Worker());
  ExpectRoundTrip(Report());
  ExpectRoundTrip(ListedJob{1, "hash", Facts(), Error{"NOT_FOUND", "no such bucket"}});
  ExpectRoundTrip(
      WorkerBeat{.worker = 7,
                 .facts = Worker(),
                 .version = 1,
                 .lanes = {Report()},
                 .listed = {{1, "hash", Facts(), Error{"NOT_FOUND", "no such bucket"}}},
                 .draining = true,
                 .left = true,
                 .wait_ms = 13,
                 .visits = {Visits()}});
  ExpectRoundTrip(AssignedLane{1, 2, {3, 4}, 5, 6, true});
  ExpectRoundTrip(Visits());
  ExpectRoundTrip(Told());
  ExpectRoundTrip(WorkerNews{.version = 1,
                             .join = true,
                             .assigned = {{1, 2, {3, 4}, 5, 6, true}},
                             .jobs = {Told()}});
}

TEST(ServiceTest, WhatIsLeftOutHasItsDefault) {
  ExpectReads("{}", JobSettings());
  ExpectReads(R"({"name":"train","consumers":2})",
              JobSettings{.name = "train", .consumers = 2});
  ExpectReads(R"({"facts":null,"worker":3})", WorkerBeat{.worker = 3});
  EXPECT_EQ(JobSettings().order, "fixed");
  EXPECT_EQ(JobSettings().visit, "exactly_once");
  EXPECT_EQ(OpenedJob().heartbeat_ms, 1000);
}

TEST(ServiceTest, WhatIsOfTheWrongKindIsAnErrorThatSaysWhere) {
  EXPECT_EQ(ErrorOf<OpenJob>(R"({"settings":{"consumers":"two"}})"),
            "settings: consumers: must be a whole number in range, not \"two\"");
  EXPECT_THAT(ErrorOf<WorkerBeat>(R"({"lanes":[{},{"rows":[]}]})"),
              testing::StartsWith("lanes: "));
}

}  // namespace
}  // namespace millrace::api
