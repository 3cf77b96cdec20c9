// Another system, measured beside us in the same run: a small Python program below
// `peers/` that is started once, says that it is ready, and then does the work again
// each time it is told to. What it needs may not be installed: then it is not measured.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/bench/workload.h"

namespace millrace::bench {

class Peer {
 public:
  // Starts a program with arguments. NotFound where what it needs is not there.
  static absl::StatusOr<std::unique_ptr<Peer>> Start(
      const BenchOptions& options, const std::string& program,
      const std::vector<std::string>& arguments);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Does the work once. Gives what it reached, per second.
  absl::StatusOr<double> Rate();

 private:
  Peer() = default;

  absl::StatusOr<std::string> ReadLine();
  absl::Status Ended() const;

  std::string program_;
  pid_t process_ = -1;
  int to_ = -1;
  std::FILE* from_ = nullptr;
};

}  // namespace millrace::bench
