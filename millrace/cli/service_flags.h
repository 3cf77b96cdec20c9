// Flags that all processes of a service have: addresses, the token, TLS. Every flag is
// also a variable of the environment.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/tls.h"

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11.
class App;
}  // namespace CLI

namespace millrace::cli {

struct ServiceFlags {
  std::string token_file;
  http::TlsOptions tls;
};

void AddServiceFlags(CLI::App& command, ServiceFlags& flags);

// Makes a token in a file that is named and not there yet, which only this user can
// read. For who starts first.
absl::Status MakeToken(const ServiceFlags& flags);

// How to listen at an address, and how to ask others.
absl::StatusOr<http::ServerOptions> ServerOptionsOf(const std::string& listen,
                                                    const ServiceFlags& flags);
absl::StatusOr<http::ClientOptions> ClientOptionsOf(const ServiceFlags& flags);

// Whether a host is this one by any name, so that nobody else is served there.
bool IsThisMachine(const std::string& host);

// Whether there is a token, without which no Python functions are run: they can do
// whatever the process can.
absl::Status CheckTokenForPython(const ServiceFlags& flags);

// Has the signals that end a process wait to be asked for. Call it before any thread
// starts.
void HoldSignals();

// Waits for one of them; false: not yet, after a moment.
bool SignalCame();

}  // namespace millrace::cli
