// A member of a consumer of a simulated cluster, and a training loop that writes down
// what it was handed. What reads is the real JobReader, with readers of either order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/delivery/job_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/sim/network.h"
#include "millrace/sim/sim_worker.h"

namespace millrace::sim {

// A batch as it was taken: which rows, and whether they count.
struct TakenRows {
  int64_t pass = 0;
  std::vector<lanes::LaneRange> rows;
  int64_t valid = 0;  // The first so many of them.

  bool operator==(const TakenRows&) const = default;
};

// Rows begin, ..., end - 1 of a batch.
std::vector<lanes::LaneRange> Slice(const std::vector<lanes::LaneRange>& rows,
                                    int64_t begin, int64_t end);

// Rows again and again, up to so many.
std::vector<lanes::LaneRange> Repeat(const std::vector<lanes::LaneRange>& rows,
                                     int64_t count);

// The same rows in as few ranges as can be, and nothing else said of them.
std::vector<lanes::LaneRange> Joined(const std::vector<lanes::LaneRange>& rows);

class SimConsumer {
 public:
  // What it sends to a worker, by the worker's number.
  using Outgoing = std::vector<std::pair<int64_t, api::ReaderMessage>>;

  SimConsumer(api::OpenJob open, const Truth& truth, int64_t credit_bytes);

  SimConsumer(const SimConsumer&) = delete;
  SimConsumer& operator=(const SimConsumer&) = delete;

  bool opened() const { return opened_.ready; }

  bool done() const { return done_; }

  const api::OpenJob& open() const { return open_; }

  int64_t pass() const { return opened() ? job_.pass() : 0; }

  api::ReaderHello hello() const;

  absl::Status OnOpened(const api::OpenedJob& opened);
  absl::Status OnNews(const api::ConsumerNews& news);
  absl::Status OnWorker(int64_t worker, const api::WorkerMessage& message,
                        const Rows& rows);
  void OnWorkerGone(int64_t worker);

  // Takes a batch, if one is ready; goes on to the next pass at the end of one.
  absl::Status Step();

  api::ConsumerBeat Beat();

  Outgoing TakeOutgoing() { return std::exchange(outgoing_, {}); }

  const std::vector<TakenRows>& taken() const { return taken_; }

  // What it waits for, in words.
  std::string Describe() const;

  // The state after what was taken, as JSON; in any order its part.
  std::string State() const;

  // The real code.
  const delivery::JobReader& job() const { return job_; }

 private:
  bool any() const { return open_.settings.order == "any"; }

  // Rows of lanes, as far as anybody knows them beforehand.
  std::vector<int64_t> LaneRows(int64_t pass) const;

  lanes::OrderRecord FixedOrder() const;
  absl::StatusOr<delivery::BegunPass> FixedPass(
      int64_t pass, const std::optional<lanes::State>& state) const;
  absl::StatusOr<delivery::BegunPass> AnyPass(
      int64_t pass, const std::optional<lanes::State>& state) const;
  absl::Status BeginPass(int64_t pass);
  absl::Status BeginWanted();
  absl::Status EndPass();

  void Do();

  // Writes down what was taken.
  absl::Status Keep(const delivery::TakenBatch& batch);

  api::OpenJob open_;
  const Truth& truth_;
  int64_t credit_bytes_;
  delivery::JobReader job_;
  api::OpenedJob opened_;
  std::map<delivery::Token, Rows> held_;
  std::vector<TakenRows> taken_;
  Outgoing outgoing_;
  bool done_ = false;
  int64_t next_token_ = 0;
};

}  // namespace millrace::sim
