#include "millrace/cli/service_flags.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <time.h>    // NOLINT(modernize-deprecated-headers)
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::cli {
namespace {

constexpr int kTokenWords = 8;  // Of 32 bits each.

// The token is never a flag: those of a process can be read by all on its machine.
absl::StatusOr<std::string> TokenOf(const ServiceFlags& flags) {
  if (flags.token_file.empty()) {
    const char* const token = std::getenv("MILLRACE_TOKEN");
    return token == nullptr ? "" : token;
  }
  std::ifstream file(flags.token_file);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) {
    return absl::NotFoundError(
        base::StrCat("cannot read the token in ", flags.token_file));
  }
  std::string token(absl::StripAsciiWhitespace(text));
  if (token.empty()) {
    return absl::InvalidArgumentError(
        base::StrCat("there is no token in ", flags.token_file));
  }
  return token;
}

std::optional<http::TlsOptions> TlsOf(const ServiceFlags& flags) {
  const http::TlsOptions& tls = flags.tls;
  const bool given = !(tls.certificate_file + tls.key_file + tls.ca_file).empty();
  return given ? std::optional(tls) : std::nullopt;
}

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

void AddServiceFlags(CLI::App& command, ServiceFlags& flags) {
  command
      .add_option("--token-file", flags.token_file,
                  "A file with the token that all processes of the service share; "
                  "MILLRACE_TOKEN may hold the token itself. A dispatcher makes the "
                  "file where there is none")
      ->envname("MILLRACE_TOKEN_FILE");
  command
      .add_option("--certificate", flags.tls.certificate_file,
                  "PEM: this process's certificate; turns TLS on")
      ->envname("MILLRACE_CERTIFICATE");
  command.add_option("--key", flags.tls.key_file, "PEM: the certificate's key")
      ->envname("MILLRACE_KEY");
  command
      .add_option("--ca", flags.tls.ca_file,
                  "PEM: who may sign the certificates of others; a server that has it "
                  "asks for them")
      ->envname("MILLRACE_CA");
}

absl::Status MakeToken(const ServiceFlags& flags) {
  if (flags.token_file.empty() || access(flags.token_file.c_str(), F_OK) == 0) {
    return absl::OkStatus();
  }
  std::string token;
  for (int i = 0; i < kTokenWords; ++i) {
    absl::StrAppendFormat(&token, "%08x", std::random_device{}());
  }
  token += '\n';
  const int file = open(flags.token_file.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  const bool written =
      file >= 0 && write(file, token.data(), token.size()) == std::ssize(token);
  if (file >= 0) close(file);
  if (written) return absl::OkStatus();
  return absl::UnavailableError(
      base::StrCat("cannot make a token in ", flags.token_file));
}

absl::StatusOr<http::ServerOptions> ServerOptionsOf(const std::string& listen,
                                                    const ServiceFlags& flags) {
  const http::Address address = TRY(http::ReadAddress(listen));
  http::ServerOptions options;
  options.host = address.host;
  options.port = address.port;
  options.token = TRY(TokenOf(flags));
  options.tls = TlsOf(flags);
  return options;
}

absl::StatusOr<http::ClientOptions> ClientOptionsOf(const ServiceFlags& flags) {
  http::ClientOptions options;
  options.token = TRY(TokenOf(flags));
  options.tls = TlsOf(flags);
  return options;
}

bool IsThisMachine(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

absl::Status CheckTokenForPython(const ServiceFlags& flags) {
  const bool is_made = !flags.token_file.empty();  // By the dispatcher, at the latest.
  if (is_made || !TRY(TokenOf(flags)).empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "--allow-python needs a token, on one machine too: set MILLRACE_TOKEN or "
      "--token-file for dispatcher, workers and trainers alike");
}

void HoldSignals() {
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool SignalCame() {
  const sigset_t signals = EndingSignals();
  const timespec moment{.tv_sec = 0, .tv_nsec = 200'000'000};
  return sigtimedwait(&signals, nullptr, &moment) > 0;
}

}  // namespace millrace::cli
