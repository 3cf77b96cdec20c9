// What tests of described structs share: that each goes to JSON and back with all its
// members, and that members which nobody knows are passed over.
#pragma once

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <boost/mp11.hpp>

#include "millrace/api/json.h"
#include "millrace/base/status_matchers.h"

namespace millrace::api {

template <typename T>
void ExpectReads(const std::string& text, const T& expected) {
  const auto read = FromJson<T>(text);
  ASSERT_THAT(read, base::IsOk()) << text;
  EXPECT_TRUE(*read == expected) << text << " was read as " << ToJson(*read);
}

// Requires: every member differs from its default, so that one that is lost is noticed.
template <typename T>
void ExpectRoundTrip(const T& value) {
  boost::mp11::mp_for_each<json_internal::Members<T>>([&](auto member) {
    EXPECT_FALSE(value.*member.pointer == T().*member.pointer)
        << member.name << " is not set";
  });
  const std::string text = ToJson(value);
  ExpectReads(text, value);
  ExpectReads(R"({"of_a_later_version":{"x":[1]},)" + text.substr(1), value);
}

template <typename T>
std::string ErrorOf(const std::string& text) {
  const auto read = FromJson<T>(text);
  return read.ok() ? "" : std::string(read.status().message());
}

}  // namespace millrace::api
