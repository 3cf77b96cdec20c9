// A member of a consumer of a simulated cluster: the real FixedReader, pass after pass,
// and a training loop that writes down what it was handed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/rest.h"
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

class SimConsumer {
 public:
  // What it sends to a worker, by the worker's number.
  using Outgoing = std::vector<std::pair<int64_t, api::ReaderMessage>>;

  SimConsumer(api::OpenJob open, const Truth& truth, int64_t credit_bytes)
      : open_(std::move(open)), truth_(truth), credit_bytes_(credit_bytes) {}

  bool opened() const { return opened_.ready; }

  bool done() const { return done_; }

  const api::OpenJob& open() const { return open_; }

  const api::OpenedJob& job() const { return opened_; }

  api::ReaderHello hello() const;

  absl::Status OnOpened(const api::OpenedJob& opened);
  absl::Status OnNews(const api::ConsumerNews& news);
  absl::Status OnWorker(const api::WorkerMessage& message, const Rows& rows);
  void OnWorkerGone(int64_t worker);

  // Takes a batch, if one is ready; goes on to the next pass at the end of one.
  absl::Status Step();

  api::ConsumerBeat Beat() const;

  Outgoing TakeOutgoing() { return std::exchange(outgoing_, {}); }

  const std::vector<TakenRows>& taken() const { return taken_; }

  // What it waits for, in words.
  std::string Describe() const;

  // The state after what was taken, as JSON.
  std::string State() const;

 private:
  absl::Status BeginPass(const lanes::Rest& rest);
  lanes::Rest Whole(int64_t pass) const;
  std::vector<int64_t> LaneRows(int64_t pass) const;
  void Act();

  api::OpenJob open_;
  const Truth& truth_;
  int64_t credit_bytes_;
  api::OpenedJob opened_;
  int64_t pass_ = 0;
  std::unique_ptr<delivery::FixedReader> reader_;
  std::map<delivery::Token, Rows> held_;
  std::vector<TakenRows> taken_;
  Outgoing outgoing_;
  int64_t version_ = 0;
  int64_t next_token_ = 0;
  bool tell_known_ = false;
  bool done_ = false;
};

}  // namespace millrace::sim
