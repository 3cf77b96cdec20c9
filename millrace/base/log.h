// Structured logging: a constant message and named values, as text or as JSON lines, to
// stderr or to a function (Python's logger). Messages are constant so that they can be
// counted and searched; what varies is in the fields. Safe from any thread; a message
// below the level costs an atomic load and its arguments.
//
//   Log(LogLevel::kInfo, "worker joined", {{"worker", ToNumber(id)}, {"cores", 16}});
//
// The variable MILLRACE_LOG sets level and format: "debug", "warning", "info,json",
// "off".
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "millrace/base/bytes.h"
#include "millrace/base/ids.h"

namespace millrace::base {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

enum class LogFormat { kText, kJson };

// A value of a field: truth, number or text. Sizes, durations, statuses and ids become
// what people read.
class LogValue {
 public:
  LogValue(bool value) : value_(value) {}

  LogValue(std::signed_integral auto value) : value_(int64_t{value}) {}

  LogValue(std::unsigned_integral auto value) : value_(uint64_t{value}) {}

  LogValue(std::floating_point auto value) : value_(double{value}) {}

  LogValue(const char* text) : value_(std::string(text)) {}

  LogValue(std::string text) : value_(std::move(text)) {}

  LogValue(std::string_view text) : value_(std::string(text)) {}

  LogValue(absl::string_view text) : value_(std::string(text)) {}

  LogValue(Bytes bytes) : value_(ToString(bytes)) {}

  LogValue(Id auto id) : value_(ToNumber(id)) {}

  LogValue(absl::Duration duration);
  LogValue(const absl::Status& status);

  const auto& value() const { return value_; }

 private:
  std::variant<bool, int64_t, uint64_t, double, std::string> value_;
};

struct LogField {
  std::string_view key;  // snake_case; not "time", "level" or "message".
  LogValue value;
};

struct LogRecord {
  absl::Time time;
  LogLevel level = LogLevel::kInfo;
  std::string_view message;
  std::span<const LogField> fields;
};

struct LogSettings {
  LogLevel level = LogLevel::kInfo;  // The least level that is written.
  LogFormat format = LogFormat::kText;
};

// Where records go. Called from any thread, also from several at once, with no lock
// held.
using LogSink = std::function<void(const LogRecord&)>;

// Writes a message with its fields, if `level` is enabled.
void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogField> fields = {});

// Writes it the first time this cause is given, and counts the other times.
void LogOnce(std::string_view cause, LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields = {});

// Returns how often LogOnce was called with this cause.
int64_t TimesLogged(std::string_view cause);

// Says whether a message of this level would be written.
bool LogEnabled(LogLevel level);

// Replaces level and format; returns the old ones.
LogSettings SetLogSettings(const LogSettings& settings);

// Sends records to `sink` instead of stderr; an empty one brings stderr back.
void SetLogSink(LogSink sink);

// Writes out what is buffered.
void FlushLogs();

// Reads the text of MILLRACE_LOG: a level, a format, or both with a comma.
absl::StatusOr<LogSettings> ParseLogSettings(std::string_view text);

// Prints a record as one line: "2024-05-01T12:00:00.000Z info joined worker=7".
std::string FormatText(const LogRecord& record);

// Prints a record as one line of JSON:
// {"time":...,"level":...,"message":...,"worker":7}.
std::string FormatJson(const LogRecord& record);

}  // namespace millrace::base
