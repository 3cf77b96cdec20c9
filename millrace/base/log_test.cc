#include "millrace/base/log.h"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): for setenv.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status_matchers.h"

namespace millrace::base {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class WorkerId : int64_t {};

// Collects what is logged while it lives, less the time at the start of each line.
class Collected {
 public:
  explicit Collected(LogLevel level = LogLevel::kInfo)
      : before_(SetLogSettings({.level = level})) {
    SetLogSink([this](const LogRecord& record) {
      MutexLock lock(&mutex_);
      lines_.push_back(FormatText(record).substr(25));
    });
  }

  Collected(const Collected&) = delete;
  Collected& operator=(const Collected&) = delete;

  ~Collected() {
    SetLogSink({});
    SetLogSettings(before_);
  }

  std::vector<std::string> lines() const {
    MutexLock lock(&mutex_);
    return lines_;
  }

 private:
  const LogSettings before_;
  mutable Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

// A record with one field, at a fixed time.
template <typename Format>
std::string Formatted(Format format, const LogValue& value) {
  const LogField field = {"key", value};
  return format({.time = absl::UnixEpoch() + absl::Milliseconds(1'234'567),
                 .level = LogLevel::kWarning,
                 .message = "it happened",
                 .fields = std::span(&field, 1)});
}

TEST(LogTest, WritesMessageAndFields) {
  const Collected collected;
  Log(LogLevel::kInfo, "worker joined", {{"worker", 7}, {"host", "a"}});
  Log(LogLevel::kError, "worker lost");
  EXPECT_THAT(collected.lines(),
              ElementsAre("info worker joined worker=7 host=a", "error worker lost"));
}

TEST(LogTest, DropsWhatIsBelowTheLevel) {
  const Collected collected(LogLevel::kWarning);
  Log(LogLevel::kDebug, "a");
  Log(LogLevel::kInfo, "b");
  Log(LogLevel::kWarning, "c");
  EXPECT_THAT(collected.lines(), ElementsAre("warning c"));
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kWarning));
}

TEST(LogTest, WritesNothingWhenOff) {
  const Collected collected(LogLevel::kOff);
  Log(LogLevel::kError, "a");
  EXPECT_FALSE(LogEnabled(LogLevel::kError));
  EXPECT_FALSE(LogEnabled(LogLevel::kOff));
  EXPECT_THAT(collected.lines(), ElementsAre());
}

TEST(LogTest, TakesTheTimeFromTheClock) {
  absl::Time time;
  SetLogSink([&](const LogRecord& record) { time = record.time; });
  const absl::Time before = RealClock().TimeOfDay();
  Log(LogLevel::kError, "now");
  SetLogSink({});
  EXPECT_GE(time, before);
  EXPECT_LE(time, RealClock().TimeOfDay());
}

TEST(LogTest, WritesEachCauseOnceAndCountsTheRest) {
  const Collected collected;
  for (int i = 0; i < 5; ++i) {
    LogOnce("log_test: torn file", LogLevel::kWarning, "file is torn", {{"i", i}});
    LogOnce("log_test: slow disk", LogLevel::kInfo, "disk is slow");
  }
  EXPECT_THAT(collected.lines(),
              ElementsAre("warning file is torn i=0", "info disk is slow"));
  EXPECT_EQ(TimesLogged("log_test: torn file"), 5);
  EXPECT_EQ(TimesLogged("log_test: never"), 0);
}

// In a process of its own, so that the other tests keep their causes.
TEST(LogTest, CountsCausesBeyondTheLimitAsOne) {
  const auto log_many = [] {
    const Collected collected;
    for (int i = 0; i < 2000; ++i) {
      LogOnce("log_test: cause " + std::to_string(i), LogLevel::kInfo, "again");
    }
    CHECK_LE(collected.lines().size(), 1025);
    CHECK_GE(TimesLogged("(other causes)"), 2000 - 1024);
    std::_Exit(0);
  };
  EXPECT_EXIT(log_many(), testing::ExitedWithCode(0), "");
}

TEST(LogTest, ASinkMayLogAndReplaceItself) {
  int calls = 0;
  SetLogSink([&](const LogRecord&) {
    if (++calls > 1) return;
    Log(LogLevel::kError, "from inside");
    SetLogSink({});
  });
  Log(LogLevel::kError, "from outside");
  EXPECT_EQ(calls, 2);
}

TEST(LogTest, ThreadsMayLogWhileTheSinkChanges) {
  std::vector<std::jthread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      const LogSettings quiet = {.level = LogLevel::kError};
      for (int step = 0; step < 200; ++step) {
        SetLogSink([](const LogRecord& record) { EXPECT_EQ(record.message, "m"); });
        Log(LogLevel::kError, "m", {{"step", step}});
        LogOnce("log_test: threads", LogLevel::kError, "m");
        SetLogSettings(quiet);
      }
    });
  }
  threads.clear();
  SetLogSink({});
  EXPECT_EQ(TimesLogged("log_test: threads"), 600);
}

TEST(LogTest, FormatsTextLines) {
  EXPECT_EQ(Formatted(FormatText, 7),
            "1970-01-01T00:20:34.567Z warning it happened key=7");
}

TEST(LogTest, QuotesTextWhereAReaderNeedsIt) {
  const auto text = [](const LogValue& value) {
    const std::string line = Formatted(FormatText, value);
    return line.substr(line.find("key="));
  };
  EXPECT_EQ(text("plain/path.txt"), "key=plain/path.txt");
  EXPECT_EQ(text(""), "key=\"\"");
  EXPECT_EQ(text("two words"), "key=\"two words\"");
  EXPECT_EQ(text("a=b"), "key=\"a=b\"");
  EXPECT_EQ(text("say \"no\"\n"), "key=\"say \\\"no\\\"\\n\"");
  EXPECT_EQ(text("Zürich"), "key=Zürich");
}

TEST(LogTest, FormatsJsonLines) {
  EXPECT_EQ(Formatted(FormatJson, 7),
            R"({"time":"1970-01-01T00:20:34.567Z","level":"warning",)"
            R"("message":"it happened","key":7})");
}

TEST(LogTest, FormatsEveryKindOfValueAsJson) {
  const auto json = [](const LogValue& value) {
    const std::string line = Formatted(FormatJson, value);
    const size_t start = line.find("\"key\":") + 6;
    return line.substr(start, line.size() - 1 - start);
  };
  EXPECT_EQ(json(true), "true");
  EXPECT_EQ(json(-3), "-3");
  EXPECT_EQ(json(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(json(0.1), "0.1");
  EXPECT_EQ(json(0.5F), "0.5");
  EXPECT_EQ(json(std::nan("")), R"("nan")");
  EXPECT_EQ(json(-std::numeric_limits<double>::infinity()), R"("-inf")");
  EXPECT_EQ(json("say \"no\"\n\xff"), R"("say \"no\"\n\ufffd")");
  EXPECT_EQ(json(std::string_view("a")), R"("a")");
  EXPECT_EQ(json(absl::string_view("b")), R"("b")");
  EXPECT_EQ(json(std::string("c")), R"("c")");
  EXPECT_EQ(json(3_MiB), R"("3 MiB")");
  EXPECT_EQ(json(WorkerId{9}), "9");
  EXPECT_EQ(json(absl::Milliseconds(1500)), R"("1.5s")");
  EXPECT_EQ(json(absl::NotFoundError("no file")), R"("NOT_FOUND: no file")");
}

TEST(LogTest, ALineStaysALine) {
  const LogRecord record = {.time = absl::UnixEpoch(), .message = "a\nb", .fields = {}};
  EXPECT_EQ(FormatText(record), "1970-01-01T00:00:00.000Z info a\\nb");
  EXPECT_THAT(FormatJson(record), HasSubstr(R"("message":"a\nb"})"));
}

TEST(LogTest, ReadsItsSettings) {
  const auto reads = [](std::string_view text, LogLevel level, LogFormat format) {
    const auto settings = ParseLogSettings(text);
    ASSERT_THAT(settings, IsOk());
    EXPECT_EQ(settings->level, level);
    EXPECT_EQ(settings->format, format);
  };
  reads("debug", LogLevel::kDebug, LogFormat::kText);
  reads("json", LogLevel::kInfo, LogFormat::kJson);
  reads("warning,json", LogLevel::kWarning, LogFormat::kJson);
  reads("text,error", LogLevel::kError, LogFormat::kText);
  reads("off", LogLevel::kOff, LogFormat::kText);
  for (const char* text : {"", "loud", "info,", "INFO"}) {
    EXPECT_THAT(ParseLogSettings(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("log settings")));
  }
}

TEST(LogTest, WritesLinesToStandardError) {
  EXPECT_EXIT(
      {
        SetLogSettings({.format = LogFormat::kJson});
        Log(LogLevel::kInfo, "one", {{"n", 1}});
        SetLogSettings({.format = LogFormat::kText});
        Log(LogLevel::kInfo, "two", {{"n", 2}});
        FlushLogs();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "\"message\":\"one\",\"n\":1}\n.*Z info two n=2\n");
}

// The variable is read on first use, so in a process started anew.
TEST(LogTest, ObeysItsVariable) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto log_with = [](const char* variable) {
    setenv("MILLRACE_LOG", variable, 1);  // NOLINT(concurrency-mt-unsafe): alone here.
    Log(LogLevel::kDebug, "details");
    std::_Exit(0);
  };
  EXPECT_EXIT(log_with("debug,json"), testing::ExitedWithCode(0),
              "\"level\":\"debug\",\"message\":\"details\"}");
  EXPECT_EXIT(log_with("loud"), testing::ExitedWithCode(0),
              "warning MILLRACE_LOG was not understood error=.*loud");
}

TEST(LogTest, TheOldSettingsComeBack) {
  const LogSettings before =
      SetLogSettings({.level = LogLevel::kError, .format = LogFormat::kJson});
  const LogSettings ours = SetLogSettings(before);
  EXPECT_EQ(ours.level, LogLevel::kError);
  EXPECT_EQ(ours.format, LogFormat::kJson);
}

TEST(LogTest, SinksSeeTheFieldsAsTheyWereGiven) {
  std::vector<std::string> keys;
  int64_t rows = 0;
  SetLogSink([&](const LogRecord& record) {
    for (const LogField& field : record.fields) keys.emplace_back(field.key);
    rows = std::get<int64_t>(record.fields[0].value.value());
  });
  Log(LogLevel::kError, "read", {{"rows", int64_t{12}}, {"path", "a.bin"}});
  SetLogSink({});
  EXPECT_THAT(keys, ElementsAre("rows", "path"));
  EXPECT_EQ(rows, 12);
}

}  // namespace
}  // namespace millrace::base
