#include "millrace/core/spec_text.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"

namespace millrace::core {
namespace {

using base::StatusIs;
using testing::HasSubstr;

TEST(SpecTextTest, ReadsWhatASpecPrints) {
  const Spec spec({{"id", DType::kInt64, {}},
                   {"image.pixels", DType::kUint8, {kUnknownSize, 4, 3}},
                   {"odd, name: 'x'", DType::kString, {kUnknownSize}},
                   {"größe", DType::kFloat32, Shape::Unranked()}});
  EXPECT_EQ(spec.ToString(),
            "{id: int64, image.pixels: uint8[?, 4, 3], 'odd, name: ''x''': string[?], "
            "größe: float32[...]}");
  EXPECT_EQ(*ParseSpec(spec.ToString()), spec);
  EXPECT_EQ(*ParseSpec("{}"), Spec());
  EXPECT_EQ(*ParseSpec(""), Spec());
}

TEST(SpecTextTest, BracesAndSpacesMayBeLeftOut) {
  EXPECT_EQ(*ParseSpec(" a:int64,b :float32[ 2 ] "),
            Spec({{"a", DType::kInt64, {}}, {"b", DType::kFloat32, {2}}}));
}

TEST(SpecTextTest, SaysWhatIsWrongAndWhere) {
  const auto expect = [](std::string_view text, std::string_view what) {
    EXPECT_THAT(ParseSpec(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr(std::string(what))))
        << text;
  };
  expect("a", "at byte 1 there should be \":\"");
  expect("a: integer", "at byte 2 there should be a type");
  expect("a: int64 b: int64", "there should be \",\"");
  expect("a: int64[-2]", "a size or ?");
  expect("a: int64[2", "\",\"");
  expect("{a: int64", "\"}\"");
  expect("{a: int64} b", "the end");
  expect("'a: int64", "a quote");
  expect(": int64", "a field's name");
  expect("a: int64, a: int32", "field a stands there twice");
  expect("a..b: int64", "an empty step");
}

}  // namespace
}  // namespace millrace::core
