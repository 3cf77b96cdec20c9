#include "millrace/adapters/http/access.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include <boost/asio/ip/address.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/machine_name.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr size_t kShownMax = 80;

bool Same(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(base::ToAbsl(a), base::ToAbsl(b));
}

// What comes from outside is shown in part, without what could break a line.
std::string Shown(std::string_view text) {
  std::string shown(text.substr(0, kShownMax));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

// The host without its port: "[::1]:80" has "::1".
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

// An address cannot be made to lead elsewhere, as a name can by whoever owns it.
bool IsHostAllowed(const AccessRules& rules, std::string_view host) {
  const std::string name(WithoutPort(host));
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  if (!error || Same(name, "localhost") || Same(name, MachineName())) return true;
  return std::ranges::any_of(rules.allowed_hosts, [&](const std::string& allowed) {
    return Same(name, allowed);
  });
}

bool IsOriginAllowed(const AccessRules& rules, std::string_view origin,
                     std::string_view host) {
  if (origin.empty()) return true;
  if (Same(origin, base::StrCat(rules.uses_tls ? "https://" : "http://", host))) {
    return true;
  }
  return std::ranges::any_of(rules.allowed_origins, [&](const std::string& allowed) {
    return Same(origin, allowed);
  });
}

bool HasToken(const AccessRules& rules, const Request& request) {
  if (rules.token.empty()) return true;
  const std::string_view given = Find(request.headers, "Authorization");
  return given.size() > kBearer.size() &&
         Same(given.substr(0, kBearer.size()), kBearer) &&
         SameSecret(given.substr(kBearer.size()), rules.token);
}

bool IsJson(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return Same(type, kJsonType);
}

}  // namespace

bool SameSecret(std::string_view given, std::string_view secret) {
  return given.size() == secret.size() &&
         CRYPTO_memcmp(given.data(), secret.data(), secret.size()) == 0;
}

std::optional<Refusal> CheckAccess(const AccessRules& rules, const Request& request,
                                   bool open_to_all) {
  const std::string_view host = Find(request.headers, "Host");
  if (!IsHostAllowed(rules, host)) {
    return Refusal{absl::PermissionDeniedError(
        base::StrCat("this server is not '", Shown(host),
                     "': use its address, or allow that name"))};
  }
  const std::string_view origin = Find(request.headers, "Origin");
  if (!IsOriginAllowed(rules, origin, host)) {
    return Refusal{absl::PermissionDeniedError(base::StrCat(
        "pages of '", Shown(origin), "' may not use this server: allow that origin"))};
  }
  if (!open_to_all && !HasToken(rules, request)) {
    return Refusal{absl::UnauthenticatedError(
        "the token is missing or wrong: send 'Authorization: Bearer <token>'")};
  }
  const std::string_view type = Find(request.headers, "Content-Type");
  if (request.method == "POST" && !IsJson(type)) {
    return Refusal{
        absl::InvalidArgumentError(base::StrCat(
            "a request's content type is ", kJsonType, ", not '", Shown(type), "'")),
        415};
  }
  return std::nullopt;
}

}  // namespace millrace::http
