// A worker of a simulated cluster: the real LaneServer, and an engine that counts rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/random.h"
#include "millrace/delivery/assigned_lanes.h"
#include "millrace/delivery/lane_server.h"
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

  int64_t RowsOf(const api::LaneAddress& at) const {
    return lane_rows.at(at.pass).at(at.lane);
  }
};

class SimWorker {
 public:
  SimWorker(int64_t number, const delivery::LaneServerOptions& options,
            const Truth& truth, SendToReader send)
      : number_(number),
        options_(options),
        truth_(truth),
        server_(options),
        send_(std::move(send)) {}

  int64_t number() const { return number_; }

  void OnNews(const api::WorkerNews& news);
  void OnReader(delivery::ReaderId reader, const api::ReaderMessage& message,
                int64_t members);
  void OnReaderGone(delivery::ReaderId reader);

  // Makes a block of some lane, if one was asked for.
  void MakeOne(base::Generator& random);

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
  void Send(const delivery::SendBatch& batch);

  int64_t number_;
  delivery::LaneServerOptions options_;
  const Truth& truth_;
  delivery::LaneServer server_;
  SendToReader send_;
  std::map<delivery::RunId, Run> runs_;
  std::map<delivery::Token, Rows> blocks_;
  delivery::AssignedLanes assigned_;
  std::vector<int64_t> to_list_;
  int64_t version_ = 0;
  bool join_ = true;
  bool draining_ = false;
  int64_t next_token_ = 0;
};

}  // namespace millrace::sim
