// What people who run a service ask of a dispatcher: what there is, how it is. Plain
// data, as described structs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/describe.hpp>

#include "millrace/api/service.h"
#include "millrace/api/stream.h"

namespace millrace::api {

struct GetStatus {};

BOOST_DESCRIBE_STRUCT(GetStatus, (), ())

struct ServiceStatus {
  bool ready = false;
  std::string waits_for = {};  // What for, in words, until it is.
  int64_t jobs = 0;
  int64_t workers = 0;
  int64_t workers_draining = 0;
  int64_t lanes_placed = 0;   // Now.
  int64_t lanes_waiting = 0;  // Needed now, and no worker may run them.
  int64_t placements = 0;     // Lanes given to workers since the start.

  bool operator==(const ServiceStatus&) const = default;
};

BOOST_DESCRIBE_STRUCT(ServiceStatus, (),
                      (ready, waits_for, jobs, workers, workers_draining, lanes_placed,
                       lanes_waiting, placements))

struct ListJobs {};

BOOST_DESCRIBE_STRUCT(ListJobs, (), ())

// A consumer that has no batch to take.
struct WaitingConsumer {
  int64_t consumer = 0;
  int64_t member = 0;
  int64_t waits_ms = 0;
  LaneAddress lane = {};    // That its next batch comes from.
  std::string worker = {};  // Where that is run; empty: nowhere.

  bool operator==(const WaitingConsumer&) const = default;
};

BOOST_DESCRIBE_STRUCT(WaitingConsumer, (), (consumer, member, waits_ms, lane, worker))

struct JobSummary {
  int64_t job = 0;
  std::string name = {};
  std::string pipeline = {};  // The hash of its text.
  std::string order = {};
  int64_t consumers = 0;
  int64_t consumers_heard = 0;  // Lately.
  int64_t incarnation = 0;
  RunName run = {};
  int64_t lanes = 0;          // Of a pass; -1: there is no end of them.
  int64_t pass = 0;           // Of the consumer that is behind the others.
  int64_t taken = 0;          // Batches of all consumers, in this start.
  int64_t left_out_rows = 0;  // With remainder="drop": that filled no round.
  int64_t lanes_placed = 0;   // Now.
  int64_t lanes_waiting = 0;  // Needed now, and no worker may run them.
  int64_t heard_ms = 0;       // Since a consumer was heard of.
  std::string state = {};     // In words: "running", or what it waits for.
  int64_t seed = 0;
  int64_t workers = 0;                        // That run its lanes now.
  double batches_per_second = 0;              // Taken lately, by all consumers.
  std::vector<WaitingConsumer> waiting = {};  // The longest first, a few of them.
  std::string share = {};  // What jobs of its group have in common; empty: none.
  std::string group = {};  // The group's name, where it has one.
  int64_t sharers = 1;     // Jobs of the group that read now.
  JobVisits visits = {};   // How it was given its rows, by all workers.

  bool operator==(const JobSummary&) const = default;
};

BOOST_DESCRIBE_STRUCT(JobSummary, (),
                      (job, name, pipeline, order, consumers, consumers_heard,
                       incarnation, run, lanes, pass, taken, left_out_rows,
                       lanes_placed, lanes_waiting, heard_ms, state, seed, workers,
                       batches_per_second, waiting, share, group, sharers, visits))

struct JobList {
  std::vector<JobSummary> jobs = {};

  bool operator==(const JobList&) const = default;
};

BOOST_DESCRIBE_STRUCT(JobList, (), (jobs))

struct ListWorkers {};

BOOST_DESCRIBE_STRUCT(ListWorkers, (), ())

struct WorkerSummary {
  WorkerFacts facts = {};
  int64_t lanes = 0;     // That it is to run now.
  int64_t heard_ms = 0;  // Since it was heard of.
  bool draining = false;

  bool operator==(const WorkerSummary&) const = default;
};

BOOST_DESCRIBE_STRUCT(WorkerSummary, (), (facts, lanes, heard_ms, draining))

struct WorkerList {
  std::vector<WorkerSummary> workers = {};

  bool operator==(const WorkerList&) const = default;
};

BOOST_DESCRIBE_STRUCT(WorkerList, (), (workers))

struct ListNotices {};

BOOST_DESCRIBE_STRUCT(ListNotices, (), ())

// Something that happened to a job, a lane or a worker.
struct NoticeSummary {
  int64_t number = 0;     // Of all since the start, from 1 on.
  int64_t ago_ms = 0;     // When it happened.
  std::string what = {};  // One of few: "worker lost".
  std::string name = {};  // Of the job, or where the worker is.
  std::string why = {};   // Empty where there is nothing to say.

  bool operator==(const NoticeSummary&) const = default;
};

BOOST_DESCRIBE_STRUCT(NoticeSummary, (), (number, ago_ms, what, name, why))

struct NoticeList {
  std::vector<NoticeSummary> notices = {};  // The last ones, in order.

  bool operator==(const NoticeList&) const = default;
};

BOOST_DESCRIBE_STRUCT(NoticeList, (), (notices))

}  // namespace millrace::api
