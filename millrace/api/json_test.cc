#include "millrace/api/json.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <boost/describe.hpp>

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"

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

enum class Visit : uint8_t { kExactlyOnce, kAtMostOnce, kOff };

BOOST_DESCRIBE_ENUM(Visit, kExactlyOnce, kAtMostOnce, kOff)

enum class WorkerId : int64_t {};

struct Named {
  Visit visit = Visit::kAtMostOnce;
  WorkerId worker = {};
  base::Bytes memory = {};
  base::Hash128 digest = {};
  base::Sha256 content = {};
  std::map<std::string, std::vector<Inner>> tags = {};
  std::optional<Visit> later = {};

  bool operator==(const Named&) const = default;
};

BOOST_DESCRIBE_STRUCT(Named, (), (visit, worker, memory, digest, content, tags, later))

std::string NamedErrorOf(const std::string& text) {
  const auto read = FromJson<Named>(text);
  return read.ok() ? "" : std::string(read.status().message());
}

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
  EXPECT_EQ(ToJson(Inner{}), R"({"number":7})");
}

TEST(JsonTest, FindsTheFirstDifference) {
  const Outer one = {.seed = 1, .rate = 2};
  EXPECT_FALSE(FirstDifference(one, one).has_value());
  Outer other = one;
  other.rate = 0.25;
  other.items = {{.number = 1}};
  const std::optional<Difference> difference = FirstDifference(one, other);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->member, "rate");
  EXPECT_EQ(difference->one, "2E0");
  EXPECT_EQ(difference->other, "2.5E-1");
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
  EXPECT_EQ(ErrorOf(R"({"rate": 1e999})"),
            "rate: must be a finite number, not Infinity");
  EXPECT_EQ(ErrorOf("[]"), "must be an object, not []");
  EXPECT_EQ(ErrorOf(R"({"items": {}})"), "items: must be a list, not {}");
}

TEST(JsonTest, NamesHaveTheirTexts) {
  const Named named = {.visit = Visit::kExactlyOnce,
                       .worker = WorkerId{7},
                       .memory = base::Bytes(int64_t{3} << 40),
                       .digest = {.hi = 1, .lo = ~uint64_t{0}},
                       .content = base::Sha256Of(""),
                       .tags = {{"b", {{.number = 1}}}, {"a \"b\"", {}}},
                       .later = Visit::kOff};
  const std::string text = ToJson(named);
  EXPECT_EQ(text, R"({"visit":"exactly_once","worker":7,"memory":3298534883328,)"
                  R"("digest":"0000000000000001ffffffffffffffff",)"
                  R"("content":"e3b0c44298fc1c149afbf4c8996fb924)"
                  R"(27ae41e4649b934ca495991b7852b855",)"
                  R"("tags":{"a \"b\"":[],"b":[{"number":1}]},"later":"off"})");
  EXPECT_EQ(*FromJson<Named>(text), named);
}

TEST(JsonTest, HashesOfNothingAreEmptyTexts) {
  const std::string text = ToJson(Named{});
  EXPECT_THAT(text, testing::HasSubstr(R"("digest":"","content":"",)"));
  EXPECT_EQ(*FromJson<Named>(text), Named{});
}

TEST(JsonTest, WrongNamesAreToldWithWhatWouldDo) {
  EXPECT_EQ(NamedErrorOf(R"({"visit": "twice"})"),
            "visit: must be one of exactly_once, at_most_once, off, not \"twice\"");
  EXPECT_EQ(NamedErrorOf(R"({"visit": "kOff"})"),
            "visit: must be one of exactly_once, at_most_once, off, not \"kOff\"");
  EXPECT_EQ(NamedErrorOf(R"({"later": 1})"),
            "later: must be one of exactly_once, at_most_once, off, not 1");
  EXPECT_EQ(NamedErrorOf(R"({"worker": "w"})"),
            "worker: must be a whole number in range, not \"w\"");
  EXPECT_EQ(NamedErrorOf(R"({"memory": 1.5})"),
            "memory: must be a whole number in range, not 1.5E0");
  EXPECT_EQ(NamedErrorOf(R"({"digest": "12"})"),
            "digest: must be 32 hexadecimal digits, not \"12\"");
  EXPECT_EQ(NamedErrorOf(R"({"content": 12})"),
            "content: must be 64 hexadecimal digits, not 12");
  EXPECT_EQ(NamedErrorOf(R"({"tags": []})"), "tags: must be an object, not []");
  EXPECT_EQ(NamedErrorOf(R"({"tags": {"gpu": [{"number": []}]}})"),
            "tags: gpu: item 0: number: must be a whole number in range, not []");
}

TEST(JsonTest, WhatIsNoJsonIsAnError) {
  EXPECT_THAT(ErrorOf("{"), testing::HasSubstr("no JSON: "));
  EXPECT_THAT(ErrorOf(std::string(1000, '[')), testing::HasSubstr("no JSON: "));
}

}  // namespace
}  // namespace millrace::api
