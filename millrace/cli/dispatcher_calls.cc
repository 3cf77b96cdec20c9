#include "millrace/cli/dispatcher_calls.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/json.h"
#include "millrace/api/operations.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/service_flags.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kScheme = "millrace://";

absl::Status NobodyThere(const http::Address& address, const absl::Status& why) {
  return absl::UnavailableError(base::StrCat(
      "no dispatcher answers at ", http::ToString(address), " (", why.message(),
      "); name another with --dispatcher, or start one with `millrace dispatcher`"));
}

}  // namespace

void AddDispatcherFlags(CLI::App& command, DispatcherFlags& flags) {
  command
      .add_option("--dispatcher", flags.dispatcher,
                  "Where the dispatcher is; 127.0.0.1:7171 by default")
      ->type_name("HOST:PORT");
  AddServiceFlags(command, flags.service);
}

DispatcherCalls::DispatcherCalls(http::Address address,
                                 std::unique_ptr<http::Client> client)
    : address_(std::move(address)), client_(std::move(client)) {}

absl::StatusOr<DispatcherCalls> DispatcherCalls::Make(const DispatcherFlags& flags) {
  std::string_view place = flags.dispatcher;  // As trainers write it, too.
  if (place.starts_with(kScheme)) place.remove_prefix(kScheme.size());
  http::Address address = TRY(http::ReadAddress(place));
  std::unique_ptr<http::Client> client =
      TRY(http::Client::Make(TRY(ClientOptionsOf(flags.service))));
  return DispatcherCalls(std::move(address), std::move(client));
}

template <typename Reply>
absl::StatusOr<Reply> DispatcherCalls::Get(const std::string& path) {
  const absl::StatusOr<http::Response> response =
      client_->CallAndWait({.address = address_,
                            .method = "GET",
                            .path = path,
                            .within = absl::Seconds(10),
                            .attempts_max = 2});
  if (absl::IsUnavailable(response.status()) ||
      absl::IsDeadlineExceeded(response.status())) {
    return NobodyThere(address_, response.status());
  }
  if (!response.ok()) return response.status();
  return api::FromJson<Reply>(response->body);
}

absl::StatusOr<api::ServiceStatus> DispatcherCalls::Status() {
  return Get<api::ServiceStatus>("/v1/status");
}

absl::StatusOr<api::JobList> DispatcherCalls::Jobs() {
  return Get<api::JobList>("/v1/jobs");
}

absl::StatusOr<api::WorkerList> DispatcherCalls::Workers() {
  return Get<api::WorkerList>("/v1/workers");
}

absl::StatusOr<api::NoticeList> DispatcherCalls::Notices() {
  return Get<api::NoticeList>("/v1/notices");
}

}  // namespace millrace::cli
