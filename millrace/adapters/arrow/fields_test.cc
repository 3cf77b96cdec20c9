#include "millrace/adapters/arrow/fields.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/base/status_matchers.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::StatusIs;
using testing::HasSubstr;

// Schemas that live as long as the test.
class FieldsTest : public testing::Test {
 protected:
  ArrowSchema* Type(std::string format, std::string name,
                    std::vector<ArrowSchema*> children = {},
                    ArrowSchema* dictionary = nullptr) {
    Kept& kept = kept_.emplace_back(
        Kept{std::move(format), std::move(name), std::move(children), {}});
    kept.schema = {.format = kept.format.c_str(),
                   .name = kept.name.c_str(),
                   .metadata = nullptr,
                   .flags = 0,
                   .n_children = std::ssize(kept.children),
                   .children = kept.children.data(),
                   .dictionary = dictionary,
                   .release = nullptr,
                   .private_data = nullptr};
    return &kept.schema;
  }

  absl::StatusOr<Leaves> Flatten(std::vector<ArrowSchema*> fields) {
    return LeavesOf(*Type("+s", "", std::move(fields)));
  }

 private:
  struct Kept {
    std::string format;
    std::string name;
    std::vector<ArrowSchema*> children;
    ArrowSchema schema;
  };

  std::deque<Kept> kept_;
};

TEST_F(FieldsTest, TypesAreThoseOfRows) {
  const auto leaves =
      Flatten({Type("b", "a"), Type("S", "b"), Type("e", "c"), Type("tdD", "d"),
               Type("tsu:UTC", "e"), Type("u", "f"), Type("Z", "g"), Type("w:16", "h"),
               Type("s", "i", {}, Type("U", ""))});
  ASSERT_THAT(leaves, base::IsOk());
  EXPECT_EQ(leaves->spec().ToString(),
            "{a: bool, b: uint16, c: float16, d: int64, e: int64, f: string, g: bytes, "
            "h: bytes, i: string}");
}

TEST_F(FieldsTest, NestedTypesHaveAxesAndDottedNames) {
  const auto leaves = Flatten(
      {Type("+l", "a", {Type("+w:3", "item", {Type("f", "item")})}),
       Type("+s", "b", {Type("i", "x"), Type("+L", "y", {Type("z", "item")})}),
       Type("+m", "c", {Type("+s", "entries", {Type("u", "key"), Type("l", "v")})})});
  ASSERT_THAT(leaves, base::IsOk());
  EXPECT_EQ(leaves->spec().ToString(),
            "{a: float32[?, 3], b.x: int32, b.y: bytes[?], c.key: string[?], "
            "c.v: int64[?]}");
  EXPECT_EQ(leaves->Find("b.y")->field, 1);
  EXPECT_EQ(leaves->Find("b"), nullptr);
}

TEST_F(FieldsTest, WhatRowsCannotHaveIsRefusedWithARemedy) {
  const auto leaves =
      Flatten({Type("d:10,2", "price"), Type("n", "nothing"), Type("vu", "view"),
               Type("+w:0", "none", {Type("i", "")}), Type("w:x", "wrong"),
               Type("?", "new"), Type("i", "id")});
  ASSERT_THAT(leaves, base::IsOk());
  EXPECT_EQ(leaves->spec().ToString(), "{id: int32}");
  ASSERT_EQ(leaves->refused.size(), 6U);
  EXPECT_THAT(leaves->refused[0].why,
              HasSubstr("field price is a decimal, which rows cannot hold exactly; "
                        "write it as float64"));
  EXPECT_THAT(leaves->refused[2].why, HasSubstr("write it as utf8, binary or list"));
}

TEST_F(FieldsTest, NamesThatClashOrAreEmptyAreErrors) {
  EXPECT_THAT(Flatten({Type("i", "a"), Type("i", "a")}),
              StatusIs(kInvalidArgument, HasSubstr("two fields a")));
  EXPECT_THAT(Flatten({Type("i", "a.b"), Type("+s", "a", {Type("i", "b")})}),
              StatusIs(kInvalidArgument, HasSubstr("two fields a.b")));
  EXPECT_THAT(Flatten({Type("i", "")}), StatusIs(kInvalidArgument));
}

TEST_F(FieldsTest, EveryRefusalSaysWhatTheFieldIs) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"+ud:0,1", "field x is a union (Arrow's format +ud:0,1)"},
      {"+r", "run-end encoded"},
      {"tiM", "an interval"},
      {"vz", "a view"},
      {"+vl", "a view"},
      {"w:0", "of a fixed size that is none"},
      {"w:-3", "of a fixed size that is none"},
      {"w:99999999999", "of a fixed size that is none"},
      {"n", "without a type: it has nothing but nulls"},
  };
  for (const auto& [format, why] : refused) {
    const auto leaves = Flatten({Type(format, "x")});
    ASSERT_THAT(leaves, base::IsOk());
    ASSERT_EQ(leaves->refused.size(), 1U) << format;
    EXPECT_EQ(leaves->refused[0].name, "x");
    EXPECT_THAT(leaves->refused[0].why, HasSubstr(why));
  }
}

TEST_F(FieldsTest, DictionariesHaveNumbersAndScalars) {
  const auto leaves = Flatten({Type("u", "text", {}, Type("u", "")),
                               Type("i", "twice", {}, Type("i", "", {}, Type("u", ""))),
                               Type("c", "list", {}, Type("+l", "", {Type("i", "")})),
                               Type("L", "good", {}, Type("g", ""))});
  ASSERT_THAT(leaves, base::IsOk());
  EXPECT_EQ(leaves->spec().ToString(), "{good: float64}");
  EXPECT_EQ(leaves->refused.size(), 3U);
  EXPECT_THAT(leaves->refused[1].why, HasSubstr("values that are no scalars"));
  const std::vector<Step>& steps = leaves->leaves[0].steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].layout, Layout::kDictionary);
  EXPECT_EQ(steps[0].width, 8);
  EXPECT_FALSE(steps[0].is_signed);
}

TEST_F(FieldsTest, StepsLeadToTheChildOfTheirLeaf) {
  const auto leaves =
      Flatten({Type("i", "id"),
               Type("+s", "s", {Type("i", "a"), Type("+w:2", "b", {Type("f", "")})})});
  ASSERT_THAT(leaves, base::IsOk());
  const Leaf& leaf = *leaves->Find("s.b");
  EXPECT_EQ(leaf.field, 1);
  ASSERT_EQ(leaf.steps.size(), 3U);
  EXPECT_EQ(leaf.steps[0].layout, Layout::kStruct);
  EXPECT_EQ(leaf.steps[0].child, 1);
  EXPECT_EQ(leaf.steps[1].width, 2);
  EXPECT_EQ(leaf.steps[2].width, 4);
}

TEST_F(FieldsTest, ANestWithoutEndIsRefused) {
  ArrowSchema* deep = Type("i", "item");
  for (int i = 0; i < 40; ++i) deep = Type("+l", "a", {deep});
  EXPECT_THAT(Flatten({deep}), StatusIs(kInvalidArgument, HasSubstr("deep")));
}

}  // namespace
}  // namespace millrace::arrow
