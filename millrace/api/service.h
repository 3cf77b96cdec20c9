// Requests to a dispatcher and its replies, as described structs: the one interface of
// workers, consumers, the command line and `curl`. All may be repeated without harm.
// Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>

#include "millrace/api/error.h"
#include "millrace/api/rights.h"
#include "millrace/api/stream.h"

namespace millrace::api {

// --- Jobs ---

// A package of Python's, or Python itself under the name "python".
struct Package {
  std::string name = {};
  std::string version = {};

  bool operator==(const Package&) const = default;
};

BOOST_DESCRIBE_STRUCT(Package, (), (name, version))

// What a job is; the same from all its consumers.
struct JobSettings {
  std::string name = {};      // Empty: nobody else reads it.
  std::string pipeline = {};  // The hash of its text.
  int64_t consumers = 1;
  int64_t members = 1;                 // Of each consumer; all read the same.
  std::string order = "fixed";         // Or "any".
  std::string visit = "exactly_once";  // Or "at_most_once", "at_least_once".
  std::string remainder = {};          // "drop", "pad", "keep".
  std::string sharding = "dynamic";    // Or "static", "off".
  std::string target = "any";          // Workers: or "local", "remote".
  std::vector<std::string> tags = {};  // That workers must have.
  bool global_batch = false;
  int64_t open_lanes = 0;  // 0: chosen.
  std::optional<int64_t> seed = {};
  std::vector<Package> packages = {};  // That its Python functions need; none: no such.
  std::string share = "auto";  // With jobs of the same rows; "off"; or a group's name.
  int64_t share_hold_ms = 0;   // That a reader may be held back for slower ones.

  bool operator==(const JobSettings&) const = default;
};

BOOST_DESCRIBE_STRUCT(JobSettings, (),
                      (name, pipeline, consumers, members, order, visit, remainder,
                       sharding, target, tags, global_batch, open_lanes, seed, packages,
                       share, share_hold_ms))

// One launch of a training program.
struct RunName {
  std::string id = {};  // Of the launcher; empty: it has none.
  int64_t restart = 0;  // How often the launcher started it again.
  std::string host = {};

  bool operator==(const RunName&) const = default;
};

BOOST_DESCRIBE_STRUCT(RunName, (), (id, restart, host))

// What is known of a job's passes once its sources were listed.
struct JobFacts {
  std::string manifest = {};  // Its hash.
  int64_t lanes = 0;          // Of the first pass; -1: there is no end of them.
  bool counted = false;       // The rows of lanes are known beforehand.
  int64_t batch_rows = 1;
  int64_t lane_bytes = 0;  // Least working set of an open lane.
  bool python = false;     // It holds Python functions.
  int64_t rows = -1;       // Of a pass, that are batched; -1: not known beforehand.
  bool drop_remainder = false;  // What fills no batch at the end is left out.
  int64_t group = 1;  // Batches of one bucket in a row, that consumers take together.
  std::string rows_hash = {};  // Of what its rows follow from, but for the seed.
  std::string cuts = {};       // How its sources are cut, without a state.
  int64_t joins = 0;  // Rows of its batches, which are cut and joined from any others.
  int64_t grid = 0;   // Else: rows of its batches, which must be made as they are.

  bool operator==(const JobFacts&) const = default;
};

BOOST_DESCRIBE_STRUCT(JobFacts, (),
                      (manifest, lanes, counted, batch_rows, lane_bytes, python, rows,
                       drop_remainder, group, rows_hash, cuts, joins, grid))

// A member of a consumer opens a job, or goes on waiting for the others to open it.
struct OpenJob {
  JobSettings settings = {};
  RunName run = {};
  int64_t consumer = 0;
  int64_t member = 0;
  int64_t opening = 0;     // Its number, which the answer to a first request without
                           // one gives: a later opening has a higher one.
  std::string state = {};  // To go on from; empty: from the start.
  bool resume = false;     // Without a state: from what was told last.
  bool takeover = false;
  int64_t wait_ms = 0;  // That the answer may be waited for.

  bool operator==(const OpenJob&) const = default;
};

BOOST_DESCRIBE_STRUCT(OpenJob, (),
                      (settings, run, consumer, member, opening, state, resume,
                       takeover, wait_ms))

struct OpenedJob {
  bool ready = false;
  std::string waits_for = {};  // What for, in words, until it is.
  int64_t opening = 0;         // To ask again with, where it was asked without.
  int64_t job = 0;
  int64_t incarnation = 0;
  int64_t generation = 0;
  int64_t seed = 0;
  int64_t tracks = 0;      // In fixed order.
  int64_t copies = 1;      // Of all rows in a pass, with sharding off.
  std::string state = {};  // All consumers', as of this start.
  JobFacts facts = {};
  int64_t heartbeat_ms = 1000;
  std::vector<std::string> differences = {};  // Of packages on workers, in words.
  int64_t first_pass = 0;                     // That it begins with, without a state.

  bool operator==(const OpenedJob&) const = default;
};

BOOST_DESCRIBE_STRUCT(OpenedJob, (),
                      (ready, waits_for, opening, job, incarnation, generation, seed,
                       tracks, copies, state, facts, heartbeat_ms, differences,
                       first_pass))

// --- Consumers ---

// A lane that a consumer needs to be run.
struct NeededLane {
  LaneAddress at = {};
  int64_t from = 0;
  bool now = false;

  bool operator==(const NeededLane&) const = default;
};

BOOST_DESCRIBE_STRUCT(NeededLane, (), (at, from, now))

// Rows that are known to come out of a lane.
struct KnownRows {
  LaneAddress at = {};
  int64_t rows = 0;
  bool ended = false;
  std::vector<int64_t> tails = {};  // See LaneEnd.

  bool operator==(const KnownRows&) const = default;
};

BOOST_DESCRIBE_STRUCT(KnownRows, (), (at, rows, ended, tails))

struct ConsumerBeat {
  ReaderHello reader = {};
  int64_t number = 0;   // Of this opening's beats: who is overtaken is not listened to.
  int64_t version = 0;  // Of the news it has.
  int64_t pass = 0;     // That it takes from.
  int64_t taken = 0;    // Batches, in this start.
  int64_t left_out_rows = 0;  // In fixed order: that filled no round, in this start.
  std::vector<NeededLane> needs = {};
  std::vector<KnownRows> known = {};      // Where the dispatcher asks for it.
  std::vector<int64_t> unreachable = {};  // Workers.
  std::optional<LaneAddress> waits_for = {};
  int64_t waits_ms = 0;
  int64_t wait_ms = 0;                // That news may be waited for.
  std::vector<PassBeat> passes = {};  // In any order: those it has begun.
  bool leaves = false;                // It reads no more: others may have the job.
  std::string state = {};  // Now and then: where it is, for who resumes without one.

  bool operator==(const ConsumerBeat&) const = default;
};

BOOST_DESCRIBE_STRUCT(ConsumerBeat, (),
                      (reader, number, version, pass, taken, left_out_rows, needs,
                       known, unreachable, waits_for, waits_ms, wait_ms, passes, leaves,
                       state))

struct PlacedLane {
  LaneAddress at = {};
  int64_t worker = 0;  // -1: none.

  bool operator==(const PlacedLane&) const = default;
};

BOOST_DESCRIBE_STRUCT(PlacedLane, (), (at, worker))

struct WorkerPlace {
  int64_t worker = 0;
  std::string address = {};
  std::string host = {};

  bool operator==(const WorkerPlace&) const = default;
};

BOOST_DESCRIBE_STRUCT(WorkerPlace, (), (worker, address, host))

struct ConsumerNews {
  int64_t version = 0;
  std::vector<PlacedLane> placed = {};
  std::vector<WorkerPlace> workers = {};  // Of these.
  std::vector<KnownRows> known = {};
  bool tell_known = false;  // The dispatcher has forgotten what consumers know.
  std::optional<Error> failed = {};   // Why the pass cannot go on.
  std::vector<PassNews> passes = {};  // In any order: of those it has begun.
  int64_t passes_over = 0;            // All have gone on from those before this one.

  bool operator==(const ConsumerNews&) const = default;
};

BOOST_DESCRIBE_STRUCT(ConsumerNews, (),
                      (version, placed, workers, known, tell_known, failed, passes,
                       passes_over))

// --- Workers ---

struct WorkerFacts {
  int64_t worker = 0;        // A number it drew when it started.
  std::string address = {};  // Where readers find it.
  std::string host = {};
  std::vector<std::string> tags = {};
  int64_t lanes_max = 16;  // That it runs at once.
  int64_t memory_bytes = 0;
  bool python = false;  // It may run Python functions.
  int64_t index = 0;    // Of `of`, in static sharding.
  int64_t of = 0;
  std::vector<Package> packages = {};  // That Python functions find there, by name.

  bool operator==(const WorkerFacts&) const = default;
};

BOOST_DESCRIBE_STRUCT(WorkerFacts, (),
                      (worker, address, host, tags, lanes_max, memory_bytes, python,
                       index, of, packages))

// A lane of one start of a job, and what happened to it on a worker.
struct LaneReport {
  int64_t job = 0;
  int64_t incarnation = 0;
  LaneAddress at = {};
  int64_t rows = 0;
  bool ended = false;
  bool released = false;  // All who read it have had all of it.
  std::optional<Error> failed = {};
  std::vector<int64_t> tails = {};  // See LaneEnd.

  bool operator==(const LaneReport&) const = default;
};

BOOST_DESCRIBE_STRUCT(LaneReport, (),
                      (job, incarnation, at, rows, ended, released, failed, tails))

struct ListedJob {
  int64_t job = 0;
  std::string pipeline =
      {};  // Whose sources were listed: the job may have another now.
  JobFacts facts = {};
  std::optional<Error> failed = {};

  bool operator==(const ListedJob&) const = default;
};

BOOST_DESCRIBE_STRUCT(ListedJob, (), (job, pipeline, facts, failed))

// How a worker gave a job its rows, in one start of it.
struct JobVisits {
  int64_t job = 0;
  int64_t incarnation = 0;
  int64_t made = 0;     // Rows that were made for it, for the first time there.
  int64_t shared = 0;   // That had been made for others.
  int64_t again = 0;    // That were made again for it: they had fallen out of windows.
  int64_t skipped = 0;  // That it did without.
  int64_t joined = 0;   // That were copied to join batches of another size.
  int64_t lag = 0;      // Rows that it is behind the first of its group now.
  int64_t window_bytes = 0;  // That its group has there now.

  bool operator==(const JobVisits&) const = default;
};

BOOST_DESCRIBE_STRUCT(JobVisits, (),
                      (job, incarnation, made, shared, again, skipped, joined, lag,
                       window_bytes))

struct WorkerBeat {
  int64_t worker = 0;
  std::optional<WorkerFacts> facts = {};  // When it joins, and when it is asked.
  int64_t version = 0;                    // Of the news it has.
  std::vector<LaneReport> lanes = {};     // What has changed; all, with its facts.
  std::vector<ListedJob> listed = {};
  bool draining = false;               // It leaves: no more lanes.
  bool left = false;                   // It has left: this is the last beat.
  int64_t wait_ms = 0;                 // That news may be waited for.
  std::vector<JobVisits> visits = {};  // Of jobs that may share, so far.

  bool operator==(const WorkerBeat&) const = default;
};

BOOST_DESCRIBE_STRUCT(WorkerBeat, (),
                      (worker, facts, version, lanes, listed, draining, left, wait_ms,
                       visits))

struct AssignedLane {
  int64_t job = 0;
  int64_t incarnation = 0;
  LaneAddress at = {};
  int64_t from = 0;
  int64_t members = 1;
  bool now = false;

  bool operator==(const AssignedLane&) const = default;
};

BOOST_DESCRIBE_STRUCT(AssignedLane, (), (job, incarnation, at, from, members, now))

// A job as workers must know it to run its lanes.
struct WorkerJob {
  int64_t job = 0;
  int64_t incarnation = 0;  // The latest; 0: none yet.
  std::string pipeline = {};
  std::string manifest = {};  // Empty: the worker is to list its sources.
  int64_t seed = 0;
  int64_t copies = 1;      // Of all rows in a pass, with sharding off.
  std::string state = {};  // Says how sources were cut; empty: as they are.
  std::string cuts = {};   // The same, where there is no state.
  std::string share = {};  // Jobs with the same read the same rows; empty: nobody does.
  int64_t sharers = 1;     // Of them, so many read now.
  int64_t joins = 0;       // As its facts have it.
  int64_t grid = 0;
  bool skips = false;   // It does without what has fallen out of the window.
  int64_t hold_ms = 0;  // That its group holds fast readers back for slow ones.

  bool operator==(const WorkerJob&) const = default;
};

BOOST_DESCRIBE_STRUCT(WorkerJob, (),
                      (job, incarnation, pipeline, manifest, seed, copies, state, cuts,
                       share, sharers, joins, grid, skips, hold_ms))

struct WorkerNews {
  int64_t version = 0;
  bool join = false;                        // It is not known: it must tell its facts.
  std::vector<AssignedLane> assigned = {};  // All of them, needed sooner first.
  std::vector<WorkerJob> jobs = {};         // Of these, and those to list.

  bool operator==(const WorkerNews&) const = default;
};

BOOST_DESCRIBE_STRUCT(WorkerNews, (), (version, join, assigned, jobs))

// --- Things that travel by the hash of their content ---

struct PutObject {
  std::string hash = {};
  std::string text = {};

  bool operator==(const PutObject&) const = default;
};

BOOST_DESCRIBE_STRUCT(PutObject, (), (hash, text))

struct GetObject {
  std::string hash = {};

  bool operator==(const GetObject&) const = default;
};

BOOST_DESCRIBE_STRUCT(GetObject, (), (hash))

struct Object {
  std::string text = {};

  bool operator==(const Object&) const = default;
};

BOOST_DESCRIBE_STRUCT(Object, (), (text))

}  // namespace millrace::api
