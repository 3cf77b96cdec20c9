// What is asked by people and their tools goes over the wire as it is.
#include "millrace/api/operations.h"

#include "gtest/gtest.h"

#include "millrace/api/described_test.h"

namespace millrace::api {
namespace {

TEST(OperationsTest, AllOfItGoesOverTheWire) {
  ExpectRoundTrip(ServiceStatus{.ready = true,
                                .waits_for = "workers",
                                .jobs = 1,
                                .workers = 2,
                                .workers_draining = 3,
                                .lanes_placed = 4,
                                .lanes_waiting = 5,
                                .placements = 6});
  const JobSummary job{.job = 1,
                       .name = "train",
                       .pipeline = "hash",
                       .order = "any",
                       .consumers = 8,
                       .consumers_heard = 7,
                       .incarnation = 2,
                       .run = {"slurm-1", 3, "a"},
                       .lanes = -1,
                       .pass = 3,
                       .taken = 4,
                       .lanes_placed = 5,
                       .lanes_waiting = 6,
                       .heard_ms = 7,
                       .state = "running",
                       .seed = 8,
                       .workers = 9,
                       .batches_per_second = 1.5,
                       .waiting = {{.consumer = 1,
                                    .member = 2,
                                    .waits_ms = 3,
                                    .lane = {.pass = 4, .lane = 5},
                                    .worker = "b:1"}}};
  ExpectRoundTrip(JobList{.jobs = {job, JobSummary{}}});
  const WorkerSummary worker{.facts = {.worker = 7, .address = "b:1"},
                             .lanes = 3,
                             .heard_ms = 4,
                             .draining = true};
  ExpectRoundTrip(WorkerList{.workers = {worker, WorkerSummary{}}});
  const NoticeSummary notice{
      .number = 1, .ago_ms = 2, .what = "worker lost", .name = "b:1", .why = "x"};
  ExpectRoundTrip(NoticeList{.notices = {notice, NoticeSummary{}}});
}

}  // namespace
}  // namespace millrace::api
