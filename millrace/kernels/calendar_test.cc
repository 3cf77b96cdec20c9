#include "millrace/kernels/calendar.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/text.h"

namespace millrace::kernels {
namespace {

using testing::HasSubstr;

std::string Shown(const CivilDate& date) {
  return base::StrCat(date.year, "-", date.month, "-", date.day);
}

// Seconds and nanoseconds of a text, or the error.
std::string Read(const std::string& format, const std::string& text) {
  const absl::StatusOr<DateFormat> parsed = DateFormat::Parse(format);
  if (!parsed.ok()) return std::string(parsed.status().message());
  const absl::StatusOr<Moment> moment = parsed->Read(text);
  if (!moment.ok()) return std::string(moment.status().message());
  return base::StrCat(moment->seconds, ".", moment->nanoseconds);
}

TEST(CalendarTest, KnowsDays) {
  EXPECT_EQ(DaysOf({1970, 1, 1}), 0);
  EXPECT_EQ(DaysOf({2000, 3, 1}), 11017);
  EXPECT_EQ(DaysOf({1969, 12, 31}), -1);
  EXPECT_EQ(Shown(DateOf(0)), "1970-1-1");
  EXPECT_EQ(Shown(DateOf(19782)), "2024-2-29");
  EXPECT_EQ(Shown(DateOf(-719528)), "0-1-1");
  EXPECT_EQ(Shown(DateOf(-719529)), "-1-12-31");
}

// Two ways to count: by the rule, and one day after the other.
TEST(CalendarTest, CountsEveryDayOfEightCenturies) {
  CivilDate date = {1600, 1, 1};
  for (int64_t day = DaysOf(date); date.year < 2400; ++day) {
    ASSERT_EQ(DaysOf(date), day) << Shown(date);
    ASSERT_EQ(Shown(DateOf(day)), Shown(date));
    if (++date.day <= DaysInMonth(date.year, date.month)) continue;
    date.day = 1;
    if (++date.month <= 12) continue;
    date.month = 1;
    ++date.year;
  }
}

TEST(CalendarTest, ReadsIso) {
  EXPECT_EQ(Read("iso8601", "1970-01-01"), "0.0");
  EXPECT_EQ(Read("iso8601", "2024-02-29T12:30:15Z"), "1709209815.0");
  EXPECT_EQ(Read("iso8601", "2024-02-29 12:30:15.25"), "1709209815.250000000");
  EXPECT_EQ(Read("iso8601", "2024-02-29t12:30:15,123456789123Z"),
            "1709209815.123456789");
  EXPECT_EQ(Read("iso8601", "2024-02-29T14:30:15+02:00"), "1709209815.0");
  EXPECT_EQ(Read("iso8601", "2024-02-29T07:00:15-0530"), "1709209815.0");
  EXPECT_EQ(Read("iso8601", "2024-02-29T12:30+00"), "1709209800.0");
  EXPECT_EQ(Read("iso8601", "1969-12-31T23:59:59.5Z"), "-1.500000000");
}

TEST(CalendarTest, RefusesWhatIsNoDate) {
  for (const std::string text :
       {"", "2024", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-32",
        "2024-01-01T", "2024-01-01T25:00", "2024-01-01T12:60", "2024-01-01T12:00:61",
        "2024-01-01T12:00:00.", "2024-01-01T12:00:00+2", "2024-01-01T12:00:00+25:00",
        "2024-01-01T12:00:00Z ", "20240101", "2024-1-1", "99999-01-01"}) {
    EXPECT_THAT(Read("iso8601", text), HasSubstr("is no date of the format")) << text;
  }
}

TEST(CalendarTest, ReadsFormats) {
  EXPECT_EQ(Read("%Y/%m/%d %H:%M:%S", "2024/2/29 12:30:15"), "1709209815.0");
  EXPECT_EQ(Read("%d %b %Y", "29 feb 2024"), "1709164800.0");
  EXPECT_EQ(Read("%B %d, %y", "February 29, 24"), "1709164800.0");
  EXPECT_EQ(Read("%y", "69"), "-31536000.0");
  EXPECT_EQ(Read("%F %T.%f", "2024-02-29 12:30:15.5"), "1709209815.500000000");
  EXPECT_EQ(Read("%I:%M %p", "12:05 am"), "300.0");
  EXPECT_EQ(Read("%I:%M %p", "12:05 PM"), "43500.0");
  EXPECT_EQ(Read("%Y-%j", "2024-060"), "1709164800.0");
  EXPECT_EQ(Read("%T%z", "01:00:00+01:00"), "0.0");
  EXPECT_EQ(Read("100%%", "100%"), "0.0");
}

TEST(CalendarTest, RefusesWhatDoesNotFitAFormat) {
  EXPECT_THAT(Read("%Y-%j", "2023-366"), HasSubstr("is no date"));
  EXPECT_THAT(Read("%Y", "2024x"), HasSubstr("\"2024x\" is no date"));
  EXPECT_THAT(Read("%b", "Foo"), HasSubstr("is no date"));
  EXPECT_THAT(Read("%B", "Feb"), HasSubstr("is no date"));
  EXPECT_THAT(Read("%p", "XM"), HasSubstr("is no date"));
  EXPECT_THAT(Read("%f", "x"), HasSubstr("is no date"));
}

TEST(CalendarTest, TellsWhatIsWrongWithAFormat) {
  EXPECT_THAT(Read("%Y-%Q", ""), HasSubstr("argument format has %Q; known are"));
  EXPECT_THAT(Read("%Y-%", ""), HasSubstr("ends with a single %"));
}

}  // namespace
}  // namespace millrace::kernels
