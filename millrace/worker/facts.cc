#include "millrace/worker/facts.h"

#include <cstdint>
#include <string>

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/machine_name.h"
#include "millrace/api/service.h"
#include "millrace/worker/worker.h"

namespace millrace::worker {
namespace {

bool IsAllInterfaces(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::";
}

http::Address AddressOf(const WorkerOptions& options, int port) {
  http::Address address = options.advertise;
  if (address.host.empty()) address.host = options.server.host;
  if (IsAllInterfaces(address.host)) address.host = http::MachineName();
  if (address.port == 0) address.port = port;
  return address;
}

}  // namespace

api::WorkerFacts FactsOf(const WorkerOptions& options, int64_t number, int port) {
  api::WorkerFacts facts{.worker = number};
  facts.address = http::ToString(AddressOf(options, port));
  facts.host = options.host_name.empty() ? http::MachineName() : options.host_name;
  facts.tags = options.tags;
  facts.lanes_max = options.lanes_max;
  facts.memory_bytes = options.engine.memory_bytes;
  facts.python = options.allows_python;
  facts.index = options.index;
  facts.of = options.of;
  facts.packages = options.packages;
  return facts;
}

}  // namespace millrace::worker
