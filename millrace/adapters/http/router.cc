#include "millrace/adapters/http/router.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::http {

// It is ending, or there is another soon: who asks again will have an answer.
Responder::~Responder() {
  if (answer_ != nullptr) Send(absl::UnavailableError("the server gave no answer"));
}

Responder& Responder::operator=(Responder&& other) noexcept {
  std::swap(answer_, other.answer_);
  return *this;
}

void Responder::Send(Response response) {
  CHECK(answer_ != nullptr) << "a request is answered once";
  std::exchange(answer_, nullptr)(std::move(response));
}

void Router::Get(const std::string& path, Handler handler) {
  Add("GET", {.path = path, .handler = std::move(handler)});
}

void Router::Post(const std::string& path, Handler handler) {
  Add("POST", {.path = path, .handler = std::move(handler)});
}

void Router::GetOpenToAll(const std::string& path, Handler handler) {
  Add("GET", {.path = path, .handler = std::move(handler), .open_to_all = true});
}

void Router::Channel(const std::string& path, ChannelHandler handler) {
  Add("GET", {.path = path, .channel = std::move(handler)});
}

void Router::Add(std::string_view method, Route route) {
  CHECK(route.path.starts_with('/')) << route.path;
  auto& methods = routes_[route.path];
  CHECK(methods.emplace(method, std::move(route)).second) << "a route is there twice";
}

const Route* Router::Find(std::string_view method, std::string_view path) const {
  const auto methods = routes_.find(base::ToAbsl(path));
  if (methods == routes_.end()) return nullptr;
  const auto route = methods->second.find(base::ToAbsl(method));
  return route == methods->second.end() ? nullptr : &route->second;
}

bool Router::HasPath(std::string_view path) const {
  return routes_.contains(base::ToAbsl(path));
}

}  // namespace millrace::http
