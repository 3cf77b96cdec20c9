#include "millrace/api/openapi.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include <boost/json.hpp>

#include "millrace/api/route.h"
#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::api::openapi_internal {
namespace {

boost::json::object AsContent(const boost::json::object& schema) {
  return {{"application/json", {{"schema", schema}}}};
}

boost::json::object Response(std::string_view description,
                             const boost::json::object& schema) {
  return {{"description", description}, {"content", AsContent(schema)}};
}

bool IsInPath(std::string_view member, std::string_view path) {
  return path.find(base::StrCat("{", member, "}")) != std::string_view::npos;
}

size_t NamesIn(std::string_view path) {
  return static_cast<size_t>(std::ranges::count(path, '{'));
}

// Members of the request that stand in the path, or, without a body, in the query.
boost::json::array Parameters(const Call& call) {
  boost::json::array in_path;
  boost::json::array in_query;
  for (const auto& member : call.members) {
    boost::json::object parameter = {{"name", member.key()},
                                     {"schema", member.value()}};
    if (IsInPath(member.key(), call.path)) {
      parameter["in"] = "path";
      parameter["required"] = true;
      parameter["schema"].as_object().erase("default");  // It is always there.
      in_path.push_back(std::move(parameter));
    } else if (!HasBody(call.method)) {
      parameter["in"] = "query";
      in_query.push_back(std::move(parameter));
    }
  }
  CHECK_EQ(in_path.size(), NamesIn(call.path)) << "a name that is no member";
  in_path.insert(in_path.end(), in_query.begin(), in_query.end());
  return in_path;
}

}  // namespace

bool Page::Enter(const std::string& name, std::string_view full_name) {
  const auto [place, added] =
      components_.try_emplace(name, Component{std::string(full_name), {}});
  CHECK_EQ(place->second.full_name, full_name) << "two structs have one name";
  return added;
}

void Page::Define(const std::string& name, boost::json::object schema) {
  components_.at(name).schema = std::move(schema);
}

void Page::Add(const Call& call) {
  boost::json::object operation = {{"summary", call.summary}};
  boost::json::array parameters = Parameters(call);
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  if (!call.body.empty()) {
    operation["requestBody"] = {{"content", AsContent(call.body)}};
  }
  operation["responses"] = {
      {"200", Response("The reply.", call.reply)},
      {"default", Response("What went wrong.", Reference("Error"))}};
  const std::string method = absl::AsciiStrToLower(base::ToAbsl(call.method));
  const bool is_new =
      paths_[std::string(call.path)].emplace(method, std::move(operation)).second;
  CHECK(is_new) << "two routes for " << call.method << " " << call.path;
}

std::string Page::Text(const PageTitle& title) const {
  boost::json::object paths;
  for (const auto& [path, operations] : paths_) paths[path] = operations;
  boost::json::object schemas;
  for (const auto& [name, component] : components_) schemas[name] = component.schema;
  const boost::json::object page = {
      {"openapi", "3.1.0"},
      {"info", {{"title", title.title}, {"version", title.version}}},
      {"paths", paths},
      {"components", {{"schemas", schemas}}}};
  return boost::json::serialize(page);
}

std::string ShortName(std::string_view full_name) {
  CHECK_EQ(full_name.find('<'), std::string_view::npos) << full_name;
  const size_t colon = full_name.rfind(':');
  if (colon != std::string_view::npos) full_name.remove_prefix(colon + 1);
  return std::string(full_name);
}

boost::json::object Integer(std::string_view format, bool is_unsigned) {
  boost::json::object schema = {{"type", "integer"}, {"format", format}};
  if (is_unsigned) schema["minimum"] = 0;
  return schema;
}

boost::json::object Digits(int count) {
  return {{"type", "string"}, {"pattern", base::StrCat("^([0-9a-f]{", count, "})?$")}};
}

boost::json::object EnumSchema(const std::vector<std::string>& texts) {
  return {{"type", "string"}, {"enum", boost::json::array(texts.begin(), texts.end())}};
}

boost::json::object Reference(std::string_view name) {
  return {{"$ref", base::StrCat("#/components/schemas/", name)}};
}

boost::json::object OrNull(boost::json::object schema) {
  return {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
}

}  // namespace millrace::api::openapi_internal
