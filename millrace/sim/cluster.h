// A whole cluster in one thread, on virtual time: a dispatcher with its journal,
// workers that come and go, consumers that read a job to its end. One seed decides all
// of it: the order, the data, the settings, who acts when, what is lost, who dies. What
// must hold (protocol.md section 8) is checked on the way and at the end.
//
//   absl::Status status = Cluster(seed).Run();
//
// Several jobs may be read from one service, each watched by a cluster of its own:
//
//   Cluster one(seed);
//   Cluster other(seed + 1, one);
//   absl::Status status = Cluster::RunTogether({&one, &other});
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/random.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/rights.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/sim/network.h"
#include "millrace/sim/sim_consumer.h"
#include "millrace/sim/sim_worker.h"

namespace millrace::sim {

struct ClusterOptions {
  bool faults = true;
  bool runs = true;          // Lanes may give such.
  int64_t window_bytes = 0;  // Of workers.
};

class Cluster {
 public:
  explicit Cluster(uint64_t seed, const ClusterOptions& options = {});

  // Another job over the same rows, of the service of `host`, which outlives it.
  Cluster(uint64_t seed, Cluster& host);

  // Runs the job to its end; an error says what did not hold.
  absl::Status Run() { return RunTogether({this}); }

  // The same of several, the first of which has the service.
  static absl::Status RunTogether(const std::vector<Cluster*>& clusters);

  // Rows of all passes, and those that the workers there are have made.
  int64_t all_rows() const;
  int64_t made_rows() const;

  // How the job was given its rows.
  api::JobVisits Visits() const;

 private:
  struct Consumer {
    std::unique_ptr<SimConsumer> process;
    int64_t life = 0;
    std::map<int64_t, Stream> streams = {};  // By the worker's number.
  };

  struct Worker {
    std::unique_ptr<SimWorker> process;
    int64_t life = 0;
    absl::Time cut_off = absl::InfinitePast();   // From the dispatcher, until then.
    absl::Time leaves = absl::InfiniteFuture();  // At the latest; it was told to.
  };

  // What several jobs have in common.
  struct Service {
    explicit Service(const ClusterOptions& with) : options(with) {}

    ClusterOptions options;
    absl::Time now = absl::UnixEpoch();
    int64_t runs_max = 1;
    int64_t buffer_bytes = 1;
    Truth truth;  // Of all jobs, but for the sizes of batches.
    std::unique_ptr<control::Dispatcher> dispatcher;
    std::vector<std::string> journal;
    std::vector<Worker> workers;
    int64_t next_reader = 0;
    int64_t next_worker = 1;
    std::vector<Cluster*> clusters;  // By whom it is used.
  };

  Cluster(uint64_t seed, std::unique_ptr<Service> own, Service* service);
  void BeginJob();
  absl::Status Go(int64_t step);
  absl::Status CheckEnd() const;

  bool is_host() const { return own_ != nullptr; }

  absl::Status Step();
  void Fault();
  void GiveRuns();

  // Starts all consumers of a run, from a state; or each from its part, if these are as
  // many.
  void BeginRun(const std::string& state, const std::vector<std::string>& parts = {});
  api::JobSettings SomeSettings();
  void StartWorker(Worker& worker);
  void LoseWorker(Worker& worker);
  void LoseDrained();
  void StartLost(double likelihood);
  void StartDispatcher();
  absl::Status CheckReplay() const;

  absl::Status DeliverRequest();
  absl::Status DeliverReply();
  absl::Status DeliverStream();
  void Beat();

  Worker* FindWorker(int64_t number);
  void SendOut(Consumer& consumer);
  Stream& StreamTo(Consumer& consumer, int64_t worker);
  void Break(Consumer& consumer, int64_t worker);
  void ToReader(delivery::ReaderId reader, const api::WorkerMessage& message,
                const Rows& rows);

  bool AllDone() const;

  // In fixed order (cluster_fixed.cc).
  void ResumeElsewhere();
  absl::Status CheckFixed() const;
  lanes::Rest RestOf(const lanes::State& state) const;
  std::vector<TakenRows> Expected(int64_t consumer) const;
  std::vector<TakenRows> ExpectedRuns(int64_t pass, const lanes::Rest& rest,
                                      int64_t consumer) const;
  std::vector<TakenRows> ExpectedTurns(const lanes::Order& order,
                                       const lanes::Order& whole,
                                       int64_t consumer) const;
  std::vector<TakenRows> ExpectedSlices(const lanes::Order& order,
                                        const lanes::Order& whole,
                                        int64_t consumer) const;

  // In any order (cluster_any.cc).
  void ResumeAnywhere();
  std::vector<std::vector<lanes::LaneRange>> OpenRows(int64_t pass) const;
  int64_t BatchesOf(int64_t pass) const;
  absl::Status CheckRights() const;
  absl::Status CheckRightsOf(int64_t pass, const control::PassRights& rights) const;
  absl::Status CheckAny() const;
  absl::Status CheckCounts(int64_t pass) const;
  absl::Status CheckRows(int64_t pass) const;

  base::Generator random_;
  const std::unique_ptr<Service> own_;  // Null: another's.
  Service& service_;
  absl::Time& now_ = service_.now;
  std::unique_ptr<control::Dispatcher>& dispatcher_ = service_.dispatcher;
  std::vector<std::string>& journal_ = service_.journal;
  std::vector<Worker>& workers_ = service_.workers;
  bool any_ = false;
  std::string visit_ = "exactly_once";
  Truth truth_;
  absl::Time next_beats_ = absl::UnixEpoch();
  api::JobSettings settings_;
  int64_t restarts_ = 0;
  std::string state_;  // That this run began with.
  std::vector<Consumer> consumers_;
  std::map<delivery::ReaderId, int64_t> readers_;  // To consumers.
  Cloud<Request> requests_;
  Cloud<Reply> replies_;
  int64_t openings_ = 0;
};

}  // namespace millrace::sim
