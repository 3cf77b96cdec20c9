#include "millrace/api/json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <boost/describe.hpp>

namespace millrace::api {
namespace {

struct Inner {
  int64_t number = 7;
  std::optional<std::string> name = {};

  bool operator==(const Inner&) const = default;
};

BOOST_DESCRIBE_STRUCT(Inner, (), (number, name))

struct Outer {
  bool on = false;
  uint64_t seed = 0;
  double rate = 0.5;
  std::vector<Inner> items = {};

  bool operator==(const Outer&) const = default;
};

BOOST_DESCRIBE_STRUCT(Outer, (), (on, seed, rate, items))

std::string ErrorOf(const std::string& text) {
  const auto read = FromJson<Outer>(text);
  return read.ok() ? "" : std::string(read.status().message());
}

TEST(JsonTest, ReadsWhatItWrote) {
  const Outer outer = {.on = true,
                       .seed = ~uint64_t{0},
                       .rate = 0.1,
                       .items = {{.number = -1, .name = "a\"b"}, {.number = 2}}};
  EXPECT_EQ(*FromJson<Outer>(ToJson(outer)), outer);
  EXPECT_EQ(ToJson(Inner{}), R"({"number":7,"name":null})");
}

TEST(JsonTest, UnknownMembersArePassedOverAndMissingOnesKeepTheirDefaults) {
  const auto read = FromJson<Outer>(R"({"later": [1, {}], "items": [{"x": 1}]})");
  EXPECT_EQ(*read, (Outer{.items = {Inner{}}}));
}

TEST(JsonTest, WrongTypesNameTheMember) {
  EXPECT_EQ(ErrorOf(R"({"items": [{}, {"number": "x"}]})"),
            "items: item 1: number: must be a whole number in range, not \"x\"");
  EXPECT_EQ(ErrorOf(R"({"seed": -1})"),
            "seed: must be a whole number in range, not -1");
  EXPECT_EQ(ErrorOf(R"({"on": 1})"), "on: must be true or false, not 1");
  EXPECT_EQ(ErrorOf(R"({"rate": []})"), "rate: must be a number, not []");
  EXPECT_EQ(ErrorOf("[]"), "must be an object, not []");
  EXPECT_EQ(ErrorOf(R"({"items": {}})"), "items: must be a list, not {}");
}

TEST(JsonTest, WhatIsNoJsonIsAnError) {
  EXPECT_THAT(ErrorOf("{"), testing::HasSubstr("no JSON: "));
  EXPECT_THAT(ErrorOf(std::string(1000, '[')), testing::HasSubstr("no JSON: "));
}

}  // namespace
}  // namespace millrace::api
