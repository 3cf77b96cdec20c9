// The OpenAPI 3.1 page of a service, made from its list of routes (route.h) and the
// described structs these name. The same routes give the same bytes. Pure.
//
//   std::string page = OpenApiPage({.title = "Dispatcher", .version = "1"}, kRoutes);
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/core/type_name.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>

#include "millrace/api/error.h"
#include "millrace/api/json.h"
#include "millrace/api/route.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/ids.h"

namespace millrace::api {

struct PageTitle {
  std::string title = {};
  std::string version = {};
};

namespace openapi_internal {

// A call as the page shows it: its types are named by now.
struct Call {
  std::string_view method;
  std::string_view path;
  std::string_view summary;
  boost::json::object members;  // The schema of each of the request's, by name.
  boost::json::object body;     // The request's schema; empty where it has no body.
  boost::json::object reply;
};

// Collects calls and the schemas of all structs they reach.
class Page {
 public:
  // Enters a struct; says whether it is new, and its members should follow. Two structs
  // of one name would be one on the page: that is not allowed.
  bool Enter(const std::string& name, std::string_view full_name);

  void Define(const std::string& name, boost::json::object schema);

  void Add(const Call& call);

  std::string Text(const PageTitle& title) const;

 private:
  struct Component {
    std::string full_name;
    boost::json::object schema;
  };

  std::map<std::string, Component> components_;
  std::map<std::string, boost::json::object> paths_;
};

// Drops namespaces: "a::b::Span" is "Span".
std::string ShortName(std::string_view full_name);

boost::json::object Integer(std::string_view format, bool is_unsigned);
boost::json::object Digits(int count);
boost::json::object EnumSchema(const std::vector<std::string>& texts);
boost::json::object Reference(std::string_view name);
boost::json::object OrNull(boost::json::object schema);

template <Described T>
boost::json::object MemberSchemas(Page& page);

template <Described T>
boost::json::object StructSchema(Page& page) {
  const std::string full_name = boost::core::type_name<T>();
  std::string name = ShortName(full_name);
  if (page.Enter(name, full_name)) {
    boost::json::object schema = {{"type", "object"}};
    if (!kDoc<T>.empty()) schema["description"] = kDoc<T>;
    schema["properties"] = MemberSchemas<T>(page);
    page.Define(name, schema);
  }
  return Reference(name);
}

template <std::integral T>
boost::json::object IntegerSchema() {
  if constexpr (std::same_as<T, bool>) return {{"type", "boolean"}};
  constexpr bool kIsUnsigned = std::is_unsigned_v<T>;
  if constexpr (sizeof(T) == sizeof(int64_t)) {
    return Integer(kIsUnsigned ? "uint64" : "int64", kIsUnsigned);
  } else {
    return Integer(kIsUnsigned ? "uint32" : "int32", kIsUnsigned);
  }
}

template <typename T>
boost::json::object SchemaOf(Page& page) {
  if constexpr (Described<T>) {
    return StructSchema<T>(page);
  } else if constexpr (json_internal::kIsList<T>) {
    return {{"type", "array"}, {"items", SchemaOf<typename T::value_type>(page)}};
  } else if constexpr (json_internal::kIsMap<T>) {
    return {{"type", "object"},
            {"additionalProperties", SchemaOf<typename T::mapped_type>(page)}};
  } else if constexpr (json_internal::kIsOptional<T>) {
    return OrNull(SchemaOf<typename T::value_type>(page));
  } else if constexpr (DescribedEnum<T>) {
    return EnumSchema(json_internal::EnumTexts<T>());
  } else if constexpr (base::Id<T> || std::same_as<T, base::Bytes>) {
    return IntegerSchema<int64_t>();
  } else if constexpr (json_internal::Hash<T>) {
    return Digits(std::same_as<T, base::Hash128> ? 32 : 64);
  } else if constexpr (std::same_as<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::same_as<T, double>) {
    return {{"type", "number"}, {"format", "double"}};
  } else {
    return IntegerSchema<T>();
  }
}

// A default is told where it is short: of numbers, texts and the like.
template <typename T>
inline constexpr bool kHasDefault =
    !Described<T> && !json_internal::kIsList<T> && !json_internal::kIsMap<T> &&
    !json_internal::kIsOptional<T>;

template <Described T>
boost::json::object MemberSchemas(Page& page) {
  boost::json::object members;
  const T defaults = {};
  boost::mp11::mp_for_each<json_internal::Members<T>>([&](auto member) {
    using Member = std::decay_t<decltype(defaults.*member.pointer)>;
    boost::json::object schema = SchemaOf<Member>(page);
    if constexpr (kHasDefault<Member>) {
      schema["default"] =
          boost::json::parse(json_internal::Written(defaults.*member.pointer));
    }
    members[member.name] = schema;
  });
  for (const MemberDoc& doc : kMemberDocs<T>) {
    CHECK(members.contains(doc.member)) << "no such member: " << doc.member;
    members[doc.member].as_object()["description"] = doc.text;
  }
  return members;
}

template <typename Request, typename Reply>
void AddCall(const Route<Request, Reply>& route, Page& page) {
  Call call = {.method = route.method,
               .path = route.path,
               .summary = route.summary,
               .members = MemberSchemas<Request>(page),
               .body = {},
               .reply = StructSchema<Reply>(page)};
  if (HasBody(route.method) && !call.members.empty()) {
    call.body = StructSchema<Request>(page);
  }
  page.Add(call);
}

}  // namespace openapi_internal

template <typename List>
std::string OpenApiPage(const PageTitle& title, const List& routes) {
  openapi_internal::Page page;
  openapi_internal::StructSchema<Error>(page);
  ForEachRoute(routes,
               [&](const auto& route) { openapi_internal::AddCall(route, page); });
  return page.Text(title);
}

}  // namespace millrace::api
