// What a worker tells of itself when it joins: where readers find it, on which machine
// it is, what it can take. Pure, but for the name of the machine.
#pragma once

#include <cstdint>

#include "millrace/api/service.h"
#include "millrace/worker/worker.h"

namespace millrace::worker {

// `port`: that it listens on. Who listens on all interfaces is found by the name of its
// machine.
api::WorkerFacts FactsOf(const WorkerOptions& options, int64_t number, int port);

}  // namespace millrace::worker
