// Simulated workers and a consumer for a dispatcher: they say what real ones do, and
// lanes take no time. Made for measuring the dispatcher alone. Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/dispatcher/loop.h"

namespace millrace::bench {

class Fleet {
 public:
  // Joins so many workers, numbered from 1, and opens a job of lanes whose rows nobody
  // knows beforehand. The loop outlives it.
  static absl::StatusOr<std::unique_ptr<Fleet>> Join(dispatcher::Loop& loop,
                                                     int64_t workers);

  // Has the next so many lanes placed, run and passed: each becomes durable when it
  // ends.
  absl::Status RunLanes(int64_t lanes);

  // A beat of a worker that joins; one of the consumer that needs so many lanes.
  static api::WorkerBeat JoiningBeat(int64_t worker);
  static api::OpenJob Opening();
  api::ConsumerBeat NeedingBeat(int64_t lanes) const;

 private:
  Fleet(dispatcher::Loop& loop, int64_t workers) : loop_(loop), workers_(workers) {}

  absl::Status OpenJob();
  absl::Status List();

  dispatcher::Loop& loop_;
  int64_t workers_;
  api::ReaderHello reader_ = {};
  int64_t next_lane_ = 0;
};

}  // namespace millrace::bench
