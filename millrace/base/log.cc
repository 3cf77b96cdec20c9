#include "millrace/base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/stdout_sinks.h"

#include "millrace/base/clock.h"
#include "millrace/base/duration.h"
#include "millrace/base/json_text.h"
#include "millrace/base/mutex.h"
#include "millrace/base/text.h"

namespace millrace::base {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning",
                                                         "error", "off"};

std::string_view NameOf(LogLevel level) {
  return kLevelNames.at(static_cast<size_t>(level));
}

// Causes that LogOnce keeps apart; those that come later count as one.
constexpr size_t kCausesMax = 1024;
constexpr std::string_view kOtherCauses = "(other causes)";

// The state of the process: where records go, and from which level on.
class Logger {
 public:
  static Logger& Get();

  bool Enabled(LogLevel level) const {
    return level >= level_.load(std::memory_order_relaxed) && level != LogLevel::kOff;
  }

  void Write(const LogRecord& record);

  // Counts a cause; says whether this was the first time.
  bool IsFirst(std::string_view cause);
  int64_t TimesOf(std::string_view cause);

  LogSettings Exchange(const LogSettings& settings) {
    return {level_.exchange(settings.level), format_.exchange(settings.format)};
  }

  void SetSink(LogSink sink);

  void Flush() { standard_error_.flush(); }

 private:
  Logger() { standard_error_.set_pattern("%v"); }

  static Logger* Make();

  std::atomic<LogLevel> level_ = LogSettings().level;
  std::atomic<LogFormat> format_ = LogSettings().format;
  spdlog::logger standard_error_{"millrace",
                                 std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  Mutex mutex_;
  std::shared_ptr<const LogSink> sink_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int64_t> causes_ ABSL_GUARDED_BY(mutex_);
};

Logger& Logger::Get() {
  static Logger* const logger = Make();  // Threads may log after main has ended.
  return *logger;
}

Logger* Logger::Make() {
  auto* const logger = new Logger();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment.
  const char* const variable = std::getenv("MILLRACE_LOG");
  if (variable == nullptr) return logger;
  const absl::StatusOr<LogSettings> settings = ParseLogSettings(variable);
  if (settings.ok()) {
    logger->Exchange(*settings);
  } else {
    const LogField why = {"error", settings.status()};
    logger->Write({.time = RealClock().TimeOfDay(),
                   .level = LogLevel::kWarning,
                   .message = "MILLRACE_LOG was not understood",
                   .fields = std::span(&why, 1)});
  }
  return logger;
}

void Logger::Write(const LogRecord& record) {
  std::shared_ptr<const LogSink> sink;
  {
    MutexLock lock(&mutex_);
    sink = sink_;
  }
  // Called without the lock: a sink may itself log, or wait for Python's.
  if (sink != nullptr) {
    (*sink)(record);
  } else {
    const bool json = format_.load(std::memory_order_relaxed) == LogFormat::kJson;
    standard_error_.log(spdlog::level::critical,
                        json ? FormatJson(record) : FormatText(record));
  }
}

bool Logger::IsFirst(std::string_view cause) {
  MutexLock lock(&mutex_);
  const bool known = causes_.contains(ToAbsl(cause));
  const bool full = causes_.size() >= kCausesMax;
  return ++causes_[ToAbsl(!known && full ? kOtherCauses : cause)] == 1;
}

int64_t Logger::TimesOf(std::string_view cause) {
  MutexLock lock(&mutex_);
  const auto found = causes_.find(ToAbsl(cause));
  return found == causes_.end() ? 0 : found->second;
}

void Logger::SetSink(LogSink sink) {
  std::shared_ptr<const LogSink> replacement;
  if (sink) replacement = std::make_shared<const LogSink>(std::move(sink));
  MutexLock lock(&mutex_);
  sink_.swap(replacement);  // The old one dies after the lock is released.
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

// Quotes text in which a reader could lose the end or the beginning.
std::string QuotedIfNeeded(std::string_view text) {
  const std::string escaped = absl::Utf8SafeCEscape(ToAbsl(text));
  const bool plain = !text.empty() && escaped == text &&
                     text.find_first_of(" =") == std::string_view::npos;
  return plain ? escaped : StrCat("\"", escaped, "\"");
}

// Prints a value: `print_text` is how text appears.
template <typename PrintText>
std::string PrintValue(const LogValue& value, const PrintText& print_text) {
  return std::visit(
      [&](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) {
          return held ? "true" : "false";
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return print_text(held);
        } else if constexpr (std::is_same_v<Held, double>) {
          const std::string number = ShortestText(held);
          return std::isfinite(held) ? number : print_text(number);
        } else {
          return StrCat(held);
        }
      },
      value.value());
}

}  // namespace

LogValue::LogValue(absl::Duration duration) : value_(ToString(duration)) {}

LogValue::LogValue(const absl::Status& status) : value_(status.ToString()) {}

void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogField> fields) {
  Logger& logger = Logger::Get();
  if (!logger.Enabled(level)) return;
  logger.Write({.time = RealClock().TimeOfDay(),
                .level = level,
                .message = message,
                .fields = std::span(fields.begin(), fields.size())});
}

void LogOnce(std::string_view cause, LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) {
  if (Logger::Get().IsFirst(cause)) Log(level, message, fields);
}

int64_t TimesLogged(std::string_view cause) { return Logger::Get().TimesOf(cause); }

bool LogEnabled(LogLevel level) { return Logger::Get().Enabled(level); }

LogSettings SetLogSettings(const LogSettings& settings) {
  return Logger::Get().Exchange(settings);
}

void SetLogSink(LogSink sink) { Logger::Get().SetSink(std::move(sink)); }

void FlushLogs() { Logger::Get().Flush(); }

absl::StatusOr<LogSettings> ParseLogSettings(std::string_view text) {
  LogSettings settings;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ',')) {
    const auto level = std::ranges::find(kLevelNames, ToStd(word));
    if (level != kLevelNames.end()) {
      settings.level = static_cast<LogLevel>(level - kLevelNames.begin());
    } else if (word == "json" || word == "text") {
      settings.format = word == "json" ? LogFormat::kJson : LogFormat::kText;
    } else {
      return absl::InvalidArgumentError(StrCat(
          "log settings are a level (debug, info, warning, error, off), a format "
          "(text, json) or both with a comma, not \"",
          word, "\""));
    }
  }
  return settings;
}

std::string FormatText(const LogRecord& record) {
  std::string line = StrCat(TimeText(record.time), " ", NameOf(record.level), " ",
                            absl::Utf8SafeCEscape(ToAbsl(record.message)));
  for (const LogField& field : record.fields) {
    absl::StrAppend(&line, " ", ToAbsl(field.key), "=",
                    PrintValue(field.value, QuotedIfNeeded));
  }
  return line;
}

std::string FormatJson(const LogRecord& record) {
  std::string line =
      StrCat("{\"time\":\"", TimeText(record.time), "\",\"level\":\"",
             NameOf(record.level), "\",\"message\":", JsonText(record.message));
  for (const LogField& field : record.fields) {
    absl::StrAppend(&line, ",", JsonText(field.key), ":",
                    PrintValue(field.value, JsonText));
  }
  return line + "}";
}

}  // namespace millrace::base
