#include "millrace/adapters/http/exchange.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <boost/beast/http/status.hpp>

#include "millrace/api/error.h"
#include "millrace/api/json.h"
#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

struct CodePair {
  absl::StatusCode code;
  int http_code;
};

// Read both ways; the first line that fits counts. The last ones are what HTTP itself
// has codes for.
constexpr CodePair kCodes[] = {
    {absl::StatusCode::kOk, 200},
    {absl::StatusCode::kInvalidArgument, 400},
    {absl::StatusCode::kUnauthenticated, 401},
    {absl::StatusCode::kPermissionDenied, 403},
    {absl::StatusCode::kNotFound, 404},
    {absl::StatusCode::kAborted, 409},
    {absl::StatusCode::kAlreadyExists, 409},
    {absl::StatusCode::kFailedPrecondition, 412},
    {absl::StatusCode::kOutOfRange, 416},
    {absl::StatusCode::kResourceExhausted, 429},
    {absl::StatusCode::kCancelled, 499},
    {absl::StatusCode::kInternal, 500},
    {absl::StatusCode::kDataLoss, 500},
    {absl::StatusCode::kUnknown, 500},
    {absl::StatusCode::kUnimplemented, 501},
    {absl::StatusCode::kUnavailable, 503},
    {absl::StatusCode::kDeadlineExceeded, 504},
    {absl::StatusCode::kUnimplemented, 405},
    {absl::StatusCode::kDeadlineExceeded, 408},
    {absl::StatusCode::kResourceExhausted, 413},
    {absl::StatusCode::kInvalidArgument, 415},
    {absl::StatusCode::kUnimplemented, 426},
    {absl::StatusCode::kResourceExhausted, 431},
    {absl::StatusCode::kUnavailable, 502},
};

absl::StatusCode CodeNamed(std::string_view name, absl::StatusCode otherwise) {
  for (const CodePair& pair : kCodes) {
    if (absl::StatusCodeToString(pair.code) == name) return pair.code;
  }
  return otherwise;
}

bool HasLineEnd(std::string_view text) {
  return text.find_first_of("\r\n") != std::string_view::npos;
}

void Append(const std::vector<Header>& headers, std::string& out) {
  for (const Header& header : headers) {
    CHECK(!HasLineEnd(header.name));
    CHECK(!HasLineEnd(header.value));
    absl::StrAppend(&out, header.name, ": ", header.value, "\r\n");
  }
}

}  // namespace

std::string ToString(const Address& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return is_v6 ? base::StrCat("[", address.host, "]:", address.port)
               : base::StrCat(address.host, ":", address.port);
}

absl::StatusOr<Address> ReadAddress(std::string_view text) {
  const size_t colon = std::min(text.rfind(':'), text.size());
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool one_host = bracketed || host.find(':') == std::string_view::npos;
  int port = 0;
  const std::string_view digits = text.substr(std::min(colon + 1, text.size()));
  const bool numbered =
      absl::SimpleAtoi(base::ToAbsl(digits), &port) && port >= 0 && port < 65'536;
  if (host.empty() || !one_host || !numbered) {
    return absl::InvalidArgumentError(
        base::StrCat("an address is HOST:PORT, as in 127.0.0.1:7171, not ", text));
  }
  return Address{std::string(host), port};
}

std::string_view Find(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (absl::EqualsIgnoreCase(header.name, base::ToAbsl(name))) return header.value;
  }
  return {};
}

int HttpCodeOf(absl::StatusCode code) {
  for (const CodePair& pair : kCodes) {
    if (pair.code == code) return pair.http_code;
  }
  return 500;
}

absl::StatusCode CodeOfHttp(int http_code) {
  for (const CodePair& pair : kCodes) {
    if (pair.http_code == http_code) return pair.code;
  }
  if (http_code >= 200 && http_code < 300) return absl::StatusCode::kOk;
  return http_code >= 400 && http_code < 500 ? absl::StatusCode::kInvalidArgument
                                             : absl::StatusCode::kUnknown;
}

Response ErrorResponse(const absl::Status& error, int http_code) {
  CHECK(!error.ok());
  Response response;
  response.code = http_code != 0 ? http_code : HttpCodeOf(error.code());
  response.body = api::ToJson(
      api::Error{absl::StatusCodeToString(error.code()), std::string(error.message())});
  return response;
}

absl::Status StatusOf(const Response& response) {
  const absl::StatusCode code = CodeOfHttp(response.code);
  if (code == absl::StatusCode::kOk) return absl::OkStatus();
  const absl::StatusOr<api::Error> error = api::FromJson<api::Error>(response.body);
  if (!error.ok() || error->code.empty()) {
    return absl::Status(code, base::StrCat("HTTP status ", response.code));
  }
  return absl::Status(CodeNamed(error->code, code), error->message);
}

std::string ToBytes(const Response& response, bool keeps_connection) {
  using boost::beast::http::int_to_status;
  using boost::beast::http::obsolete_reason;
  const std::string_view reason =
      obsolete_reason(int_to_status(static_cast<unsigned>(response.code)));
  std::string out = base::StrCat("HTTP/1.1 ", response.code, " ", reason, "\r\n");
  if (response.code != 101) {  // It has no body, and is no end.
    absl::StrAppend(&out, "Content-Type: ", response.content_type,
                    "\r\nContent-Length: ", response.body.size(), "\r\n");
    if (!keeps_connection) out += "Connection: close\r\n";
  }
  Append(response.headers, out);
  return out + "\r\n" + response.body;
}

std::string ToBytes(const Request& request, const Address& address) {
  CHECK(!HasLineEnd(request.method) && !HasLineEnd(request.path));
  CHECK(!HasLineEnd(request.query));
  std::string out =
      base::StrCat(request.method, " ", request.path, request.query.empty() ? "" : "?",
                   request.query, " HTTP/1.1\r\nHost: ", ToString(address), "\r\n");
  if (!request.body.empty() || request.method == "POST") {
    absl::StrAppend(&out, "Content-Length: ", request.body.size(), "\r\n");
    if (Find(request.headers, "Content-Type").empty()) {
      out += base::StrCat("Content-Type: ", kJsonType, "\r\n");
    }
  }
  Append(request.headers, out);
  return out + "\r\n" + request.body;
}

}  // namespace millrace::http
