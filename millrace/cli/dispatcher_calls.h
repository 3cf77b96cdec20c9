// Asks a dispatcher how things are, for the verbs that show it. Each call waits for its
// answer; one thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/operations.h"
#include "millrace/cli/service_flags.h"

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11.
class App;
}  // namespace CLI

namespace millrace::cli {

struct DispatcherFlags {
  std::string dispatcher = "127.0.0.1:7171";
  ServiceFlags service;
};

void AddDispatcherFlags(CLI::App& command, DispatcherFlags& flags);

class DispatcherCalls {
 public:
  static absl::StatusOr<DispatcherCalls> Make(const DispatcherFlags& flags);

  // Where it is.
  const http::Address& address() const { return address_; }

  absl::StatusOr<api::ServiceStatus> Status();
  absl::StatusOr<api::JobList> Jobs();
  absl::StatusOr<api::WorkerList> Workers();
  absl::StatusOr<api::NoticeList> Notices();

 private:
  DispatcherCalls(http::Address address, std::unique_ptr<http::Client> client);

  template <typename Reply>
  absl::StatusOr<Reply> Get(const std::string& path);

  http::Address address_;
  std::unique_ptr<http::Client> client_;
};

}  // namespace millrace::cli
