// The routes by which those who run a process ask how it is: /healthz (does it live),
// /readyz (may work be sent to it), both open to all, and /metrics (what it counts, in
// Prometheus' text form), for those who have the token.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"

#include "millrace/adapters/http/router.h"
#include "millrace/base/metrics.h"

namespace millrace::http {

// Each is called on the server's threads, and answers now or later, once.
struct Operations {
  using Verdict = std::function<void(const absl::Status&)>;
  using Samples = std::function<void(std::vector<base::MetricSample>)>;

  std::function<void(Verdict)> alive;    // An error says what is wrong.
  std::function<void(Verdict)> ready;    // The same, of what is waited for.
  std::function<void(Samples)> samples;  // Besides those of the process; by name.
};

void AddOperations(const Operations& operations, Router& router);

}  // namespace millrace::http
