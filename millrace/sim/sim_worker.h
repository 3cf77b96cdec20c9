// A worker of a simulated cluster: the real LaneServer and Windows, and an engine that
// counts rows.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/random.h"
#include "millrace/delivery/assigned_lanes.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/order.h"
#include "millrace/sim/network.h"

namespace millrace::sim {

// Where an answer to a reader goes.
using SendToReader =
    std::function<void(delivery::ReaderId, api::WorkerMessage, const Rows&)>;

// How many rows come out of a lane, and how many make a batch.
struct Truth {
  std::vector<std::vector<int64_t>> lane_rows;  // By pass, by lane.
  int64_t batch_rows = 1;
  bool resized = false;  // Batches had another size before.
  bool counted = true;   // Everybody knows the rows of lanes beforehand.

  // Lanes that give runs: rows are their batches then, and behind them what fills no
  // run, by key.
  std::optional<lanes::Runs> runs = {};
  std::vector<std::vector<std::vector<int64_t>>> tails = {};  // By pass, by lane.

  // All that is to be known of a lane.
  lanes::KnownLane Of(const api::LaneAddress& at) const {
    return {RowsOf(at), true,
            runs ? tails.at(at.pass).at(at.lane) : std::vector<int64_t>()};
  }

  // The key of a batch.
  int64_t KeyOf(const api::LaneAddress& at, int64_t batch) const {
    return (at.pass + at.lane + batch / runs->group) % std::ssize(runs->sizes);
  }

  lanes::Batching BatchingFor(const api::JobSettings& settings) const;

  int64_t RowsOf(const api::LaneAddress& at) const {
    return lane_rows.at(at.pass).at(at.lane);
  }
};

// A pipeline of batches of that size.
std::string PipelineOf(int64_t batch_rows);

struct SimWorkerOptions {
  delivery::LaneServerOptions server = {};
  delivery::WindowOptions windows = {};
};

class SimWorker {
 public:
  SimWorker(int64_t number, const SimWorkerOptions& options, const Truth& truth,
            SendToReader send)
      : number_(number),
        options_(options.server),
        truth_(truth),
        server_(options.server),
        windows_(options.windows),
        send_(std::move(send)) {}

  int64_t number() const { return number_; }

  void OnNews(const api::WorkerNews& news);
  void OnReader(delivery::ReaderId reader, const api::ReaderMessage& message,
                int64_t members);
  void OnReaderGone(delivery::ReaderId reader);

  // Makes a block of some lane, if one was asked for.
  void MakeOne(base::Generator& random, absl::Time now);

  // Rows that its engine made, in all.
  int64_t made_rows() const { return made_rows_; }

  api::WorkerBeat Beat();

  // Begins to leave; gone is who has nothing any more.
  void Drain() { draining_ = true; }

  bool drained() const { return draining_ && assigned_.size() == 0 && server_.idle(); }

 private:
  struct Run {
    delivery::JobLane lane;
    int64_t next = 0;
    bool pulled = false;
  };

  void Act();
  delivery::Made Next(const Run& run);
  void Do(const delivery::ServerAction& action);
  void Do(const delivery::WindowAction& action);
  void DoCompose(const delivery::Compose& compose);
  void Send(const delivery::SendBatch& batch);

  int64_t number_;
  delivery::LaneServerOptions options_;
  const Truth& truth_;
  delivery::LaneServer server_;
  delivery::Windows windows_;
  SendToReader send_;
  std::map<int64_t, int64_t> batch_rows_;  // Of jobs.
  std::map<delivery::RunId, Run> runs_;
  std::map<delivery::Token, Rows> blocks_;
  delivery::AssignedLanes assigned_;
  std::map<int64_t, std::string> to_list_;  // Jobs, and their pipelines.
  int64_t made_rows_ = 0;
  int64_t version_ = 0;
  bool join_ = true;
  bool draining_ = false;
  int64_t next_token_ = 0;
};

}  // namespace millrace::sim
