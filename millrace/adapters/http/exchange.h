// Requests and answers of HTTP as plain values, and how errors travel in them: as a
// status code of HTTP and a body {"code", "message"}. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace millrace::http {

inline constexpr std::string_view kJsonType = "application/json";

// The same for all attempts of one request, so that the server can tell.
inline constexpr std::string_view kRequestIdHeader = "Millrace-Request-Id";
// How long the client waits for the answer, in milliseconds.
inline constexpr std::string_view kDeadlineHeader = "Millrace-Deadline-Ms";

// A host and a port.
struct Address {
  std::string host;  // A name, or an address without brackets.
  int port = 0;

  friend bool operator==(const Address&, const Address&) = default;
};

// As in "worker-7:7400" or "[::1]:7400".
std::string ToString(const Address& address);

// Reads such a text.
absl::StatusOr<Address> ReadAddress(std::string_view text);

struct Header {
  std::string name;
  std::string value;
};

// The value of a header, whatever its letters' case; empty where there is none.
std::string_view Find(const std::vector<Header>& headers, std::string_view name);

struct Request {
  std::string method = "GET";
  std::string path;   // "/v1/jobs"
  std::string query;  // What follows "?".
  std::vector<Header> headers = {};
  std::string body = {};
  std::string peer = {};     // Who asks: "10.0.0.7:41000".
  absl::Time deadline = {};  // On the real clock; later answers reach nobody.
};

struct Response {
  int code = 200;
  std::string body = {};
  std::string content_type = std::string(kJsonType);
  std::vector<Header> headers = {};
};

// The status codes of HTTP and ours.
int HttpCodeOf(absl::StatusCode code);
absl::StatusCode CodeOfHttp(int http_code);

// An answer that carries an error; `http_code` where the status has no code so exact.
Response ErrorResponse(const absl::Status& error, int http_code = 0);

// OK for all successes, else the error that the answer carries.
absl::Status StatusOf(const Response& response);

// The bytes of an answer. It ends the connection unless it is kept.
std::string ToBytes(const Response& response, bool keeps_connection);

// The bytes of a request to this host. Requires: no line ends in its texts.
std::string ToBytes(const Request& request, const Address& address);

}  // namespace millrace::http
