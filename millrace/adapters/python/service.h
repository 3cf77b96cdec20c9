// A job on a service as Python reads it: batches made by workers elsewhere. Every call
// that may wait is meant to be made without Python's lock. What is wrong is thrown as
// Error.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/pipeline.h"

namespace millrace::client {
class Consumer;
}  // namespace millrace::client

namespace millrace::python {

// Where a dispatcher is, and how to speak to it.
struct ServiceAddress {
  std::string host;
  int port = 0;
  std::string token = {};             // Empty: none.
  std::string certificate_file = {};  // PEM, as are the others; all empty: no TLS.
  std::string key_file = {};
  std::string ca_file = {};
};

// What a job is and which of its readers this is: api::JobSettings and api::RunName
// have the words.
struct JobChoice {
  std::string name;
  int64_t consumer = 0;
  int64_t consumers = 1;
  int64_t member = 0;
  int64_t members = 1;
  std::string order = "fixed";
  std::string visit = "exactly_once";
  std::string remainder = {};
  std::string sharding = "dynamic";
  std::string target = "any";
  std::vector<std::string> tags = {};
  bool global_batch = false;
  int64_t open_lanes = 0;
  std::string share = "auto";
  double share_hold_seconds = 0;
  std::optional<int64_t> seed = {};
  std::string run = {};
  int64_t restart = 0;
  std::string host = {};  // This one.
  bool resume = false;
  bool takeover = false;
  std::vector<std::pair<std::string, std::string>> packages = {};  // Name, version.
  double open_seconds = 600;                                       // At most.
  bool shared_memory = true;  // With workers on this machine.
  bool copy = false;          // Arrays are in memory that no other process has.
};

// What is to be saved by the workers of a service, and where; see client/save.h.
struct ServiceSave {
  std::string folder;
  std::string format;
  bool replace = false;
  std::optional<int64_t> seed = {};  // None: drawn, or that of what is gone on with.
  // Told lanes in all, those that are there, and of these those from before, some times
  // a second; true ends it.
  std::function<bool(int64_t lanes, int64_t done, int64_t before)> interrupt = nullptr;
};

// Saves one pass, or goes on with it; gives how many rows. Of the choice, target, tags,
// packages, host and how long it may take to open count.
int64_t SaveOnService(const Pipeline& pipeline, const ServiceAddress& address,
                      const JobChoice& choice, const ServiceSave& save);

// Joins the parts of a state in order "any", given as JSON.
std::string JoinStates(const std::vector<std::string>& parts);

// How batches came.
struct Carriers {
  int64_t sharing = 0;       // Workers that share memory with this process.
  int64_t shared_bytes = 0;  // That were not copied on their way.
  int64_t copied_bytes = 0;  // That were.
  std::string note = {};     // Why, where that is worth knowing.
};

// A reader of a job. One thread takes batches at a time; what else there is, from any.
class ServiceJob {
 public:
  // Opens the job, waiting for the others of its run and for a worker. `interrupt` is
  // asked now and then, here and in Next: where it says true, they throw.
  ServiceJob(const Pipeline& pipeline, const ServiceAddress& address,
             const JobChoice& choice, const std::optional<std::string>& state,
             std::function<bool()> interrupt);

  // Leaves the job; a forked child only lets go of it.
  ~ServiceJob();

  ServiceJob(const ServiceJob&) = delete;
  ServiceJob& operator=(const ServiceJob&) = delete;

  // Gives the next batch of a pass, as Iterator::Next does; nothing at its end, behind
  // which the next pass has begun. Throws where another pass was started since.
  std::optional<Rows> Next(int64_t turn);

  // Begins a pass, or goes on with it where nothing was taken of it, and gives the turn
  // that Next takes. Whoever waits in Next with an earlier one is sent away.
  int64_t StartPass(int64_t pass);

  // Sends away whoever waits in Next with this turn.
  void LeavePass(int64_t turn) { turn_.compare_exchange_strong(turn, turn + 1); }

  // Ends it.
  void Close();

  Mark State() const;
  uint64_t seed() const;
  int64_t pass() const;

  Carriers carriers() const;

  // In which packages workers differ from this process, in words.
  std::vector<std::string> differences() const;

  int64_t rows() const { return rows_; }  // That Next has given.

  int64_t bytes() const { return bytes_; }

 private:
  struct Inner;

  void CheckProcess() const;

  std::unique_ptr<Inner> inner_;
  const bool batches_;
  const bool copies_;
  const std::function<bool()> interrupt_;
  std::atomic<int64_t> turn_ = 0;
  std::atomic<int64_t> rows_ = 0;
  std::atomic<int64_t> bytes_ = 0;
  const int process_;
};

}  // namespace millrace::python
