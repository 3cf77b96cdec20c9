// The calls of a service as one typed list. The server's routing and the OpenAPI page
// (openapi.h) are both made from it: no route exists that is not on the page. Values,
// known when compiling.
//
//   inline constexpr auto kRoutes = Routes(
//       Route<JoinRequest, JoinReply>{"POST", "/v1/workers", "A worker joins."},
//       Route<JobRequest, JobReply>{"GET", "/v1/jobs/{name}", "Tells of a job."});
//
//   ForEachRoute(kRoutes, [&](const auto& route) {
//     using Request = typename std::decay_t<decltype(route)>::Request;
//     ...
//   });
//
// A name in braces in the path is a member of the request. The other members are in the
// body, or, of a call that has none (GET, DELETE), in the query.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>

#include <boost/describe.hpp>

#include "millrace/api/json.h"

namespace millrace::api {

template <Described RequestType, Described ReplyType>
struct Route {
  using Request = RequestType;
  using Reply = ReplyType;

  std::string_view method;
  std::string_view path;
  std::string_view summary;  // A sentence, for people.
};

// Says whether calls of a method carry a body.
constexpr bool HasBody(std::string_view method) {
  return method != "GET" && method != "DELETE";
}

// For calls that need to say nothing.
struct Nothing {};

BOOST_DESCRIBE_STRUCT(Nothing, (), ())

// Joins routes into a list.
template <typename... R>
constexpr std::tuple<R...> Routes(const R&... routes) {
  return {routes...};
}

// Calls `action` with each route, in order.
template <typename List, typename Action>
constexpr void ForEachRoute(const List& routes, const Action& action) {
  std::apply([&](const auto&... route) { (action(route), ...); }, routes);
}

// What the page says of a struct and of its members; nothing, unless a struct's header
// says it:
//
//   template <>
//   inline constexpr std::string_view kDoc<Span> = "Some rows.";
//   template <>
//   inline constexpr auto kMemberDocs<Span> = std::to_array<MemberDoc>({
//       {"begin", "The first row."}, {"end", "The one after the last."}});
struct MemberDoc {
  std::string_view member;
  std::string_view text;
};

template <typename T>
inline constexpr std::string_view kDoc = "";

template <typename T>
inline constexpr std::array<MemberDoc, 0> kMemberDocs = {};

}  // namespace millrace::api
