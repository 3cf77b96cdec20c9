// Who may ask: the checks that every request passes before its body is read. A web page
// in somebody's browser must not reach a service on that machine (Host, Origin, content
// type), and nobody without the token. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "millrace/adapters/http/exchange.h"

namespace millrace::http {

struct AccessRules {
  std::string token = {};  // Empty: none is asked for.
  std::vector<std::string> allowed_hosts =
      {};  // Besides addresses and this machine's name.
  std::vector<std::string> allowed_origins = {};  // As in "https://tools.example".
  bool uses_tls = false;
};

// Why a request is not served.
struct Refusal {
  absl::Status error;
  int http_code = 0;
};

// `open_to_all` needs no token.
std::optional<Refusal> CheckAccess(const AccessRules& rules, const Request& request,
                                   bool open_to_all);

// Tells whether both are the same, in a time that does not depend on where they differ.
bool SameSecret(std::string_view given, std::string_view secret);

}  // namespace millrace::http
