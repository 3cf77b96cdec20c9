// Finds where rows begin and end in the bytes of a file. A scanner looks at what comes
// next and says what it is: framing to pass over, content to keep, a row's end. It
// holds no content, reads no file and waits for nothing: whoever drives it decides
// where the bytes come from and where the content goes. Hostile bytes give an error,
// never more.
//
//   Found found = scanner.Look(window, window_is_the_rest);   // Pass `skip`, then:
//   kMore     ──► show it more from there
//   kContent  ──► `size` bytes belong to a field; look again behind them
//   kRow      ──► a row is complete, or bad: see row(); look again
//   kEnd      ──► there are no more rows
//   kBroken   ──► nothing behind can be found: see status()
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace millrace::storage {

struct Found {
  enum class Kind : uint8_t { kMore, kContent, kRow, kEnd, kBroken };

  Kind kind = Kind::kEnd;
  int field = 0;     // Of kContent: which of the fields asked for.
  int64_t skip = 0;  // Bytes to pass over first; they may not have been shown yet.
  int64_t size = 0;  // Of kMore: bytes it must be shown then; of kContent: its size.
};

// The row that was found last.
struct FoundRow {
  int64_t begin = 0;          // Where it begins in the file.
  absl::Status why = {};      // What is wrong with it; reading can go on.
  std::string_view key = {};  // Its name, where rows have one; until the next Look.
  std::optional<uint32_t> crc = {};  // What its content must sum up to.
};

class RowScanner {
 public:
  virtual ~RowScanner() = default;

  // Looks at the bytes from the place reached on; `is_rest` tells that the file ends
  // with them. Gives kMore only where `is_rest` is false or with bytes to skip, and
  // then asks for more than it was shown.
  virtual Found Look(std::string_view bytes, bool is_rest) = 0;

  const FoundRow& row() const { return row_; }

  // Why the framing is broken: DataLoss.
  const absl::Status& status() const { return status_; }

 protected:
  static Found More(int64_t size, int64_t skip = 0) {
    return {.kind = Found::Kind::kMore, .skip = skip, .size = size};
  }

  static Found Content(int64_t skip, int64_t size, int field) {
    return {.kind = Found::Kind::kContent, .field = field, .skip = skip, .size = size};
  }

  static Found Row(int64_t skip) { return {.kind = Found::Kind::kRow, .skip = skip}; }

  static Found End() { return {}; }

  Found Broken(absl::Status status) {
    status_ = std::move(status);
    return {.kind = Found::Kind::kBroken};
  }

  FoundRow row_;

 private:
  absl::Status status_;
};

// The formats there are, by the names that indexes carry.
enum class RowFormat : uint8_t { kTfrecord, kTar, kLines, kCsv, kCsvWithoutHeader };

std::string_view Name(RowFormat format);

// Makes a scanner that finds rows, and content of no field where fields are chosen.
std::unique_ptr<RowScanner> MakeScanner(RowFormat format);

}  // namespace millrace::storage
