#include "millrace/ops/source/json_fields.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/spec.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;

absl::StatusOr<std::string> Tell(const std::vector<std::string>& rows) {
  return TRY(TellJsonFields(rows)).ToString();
}

TEST(JsonFieldsTest, JoinsTheTypesOfAllRows) {
  EXPECT_THAT(Tell({R"({"a": 1})", R"({"a": 2.5})"}), IsOkAndHolds("{a: float64}"));
  EXPECT_THAT(Tell({R"({"a": 1})", R"({"a": null})"}), IsOkAndHolds("{a: int64}"));
  EXPECT_THAT(Tell({R"({"a": 1})", R"({"a": true})"}), IsOkAndHolds("{a: string}"));
  EXPECT_THAT(Tell({R"({"a": 1})", R"({"a": "x"})"}), IsOkAndHolds("{a: string}"));
  EXPECT_THAT(Tell({R"({"a": NaN, "b": 99999999999999999999})"}),
              IsOkAndHolds("{a: float64, b: float64}"));
}

TEST(JsonFieldsTest, ArraysOfOneTypeAreFieldsWithAnAxis) {
  EXPECT_THAT(Tell({R"({"a": [1], "b": []})", R"({"a": [], "b": ["x"]})"}),
              IsOkAndHolds("{a: int64[?], b: string[?]}"));
  EXPECT_THAT(Tell({R"({"a": [1, "x"], "b": [[1]], "c": [null], "d": [true, false]})"}),
              IsOkAndHolds("{a: string, b: string, c: string, d: bool[?]}"));
  EXPECT_THAT(Tell({R"({"a": [1]})", R"({"a": 1})"}), IsOkAndHolds("{a: string}"));
}

TEST(JsonFieldsTest, ObjectsAreTheFieldsOfTheirMembers) {
  EXPECT_THAT(Tell({R"({"a": {"b": {"c": 1}}, "d": 1})", R"({"a": {"e": "x"}})"}),
              IsOkAndHolds("{a.b.c: int64, a.e: string, d: int64}"));
  EXPECT_THAT(Tell({R"({"a": {"b": 1}})", R"({"a": 1})"}), IsOkAndHolds("{a: string}"));
  EXPECT_THAT(Tell({R"({"a": {}})"}), IsOkAndHolds("{a: string}"));
  EXPECT_THAT(Tell({R"({"a.b": {"c": 1}, "x.y": 2})"}),
              IsOkAndHolds("{a.b: string, x.y: int64}"));
}

TEST(JsonFieldsTest, RowsAndNamesThatAreWrongArePassedOver) {
  EXPECT_THAT(Tell({"oops", R"({"a": 1, "": 2, "b..c": 3})", "[]"}),
              IsOkAndHolds("{a: int64}"));
  EXPECT_THAT(Tell({"oops", "1", "{}"}),
              StatusIs(kInvalidArgument, HasSubstr("none of the first 3 rows")));
  std::string many = "{\"a\": 0";
  for (int i = 0; i < 5000; ++i) many += base::StrCat(", \"k", i, "\": 1");
  EXPECT_THAT(Tell({many + "}"}),
              StatusIs(kInvalidArgument, HasSubstr("5001 different fields")));
}

TEST(JsonFieldsTest, DeepObjectsAreGivenAsTheyStand) {
  std::string row = "1";
  for (int i = 0; i < 300; ++i) row = base::StrCat("{\"a\": ", row, "}");
  EXPECT_THAT(Tell({row}), IsOkAndHolds(testing::EndsWith("a.a: string}")));
}

}  // namespace
}  // namespace millrace::ops
