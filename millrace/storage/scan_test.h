// For tests: drives a scanner over bytes, as a reader would, and gives the rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/codec/crc32c.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

struct ScannedRow {
  int64_t begin = 0;
  std::string key = {};
  std::vector<std::pair<int, std::string>> contents = {};  // By field.
  std::string why = {};  // Empty, or what is wrong with it.

  friend bool operator==(const ScannedRow&, const ScannedRow&) = default;

  friend std::ostream& operator<<(std::ostream& out, const ScannedRow& row) {
    out << "row at " << row.begin << " '" << row.key << "' " << row.why;
    for (const auto& [field, content] : row.contents) {
      out << " " << field << "=" << content.substr(0, 40);
    }
    return out;
  }
};

struct Scanned {
  std::vector<ScannedRow> rows;
  absl::Status status;  // How it ended.
};

// Shows the scanner windows of `window` bytes, or as many as it asks for.
inline Scanned ScanAll(RowScanner& scanner, std::string_view bytes, size_t window) {
  Scanned scanned;
  ScannedRow row;
  size_t shown = window;
  const size_t steps_max = 10 * bytes.size() + 100;
  for (size_t steps = 0;; ++steps) {
    CHECK_LE(steps, steps_max) << "the scanner gets nowhere";
    shown = std::min(shown, bytes.size());
    const bool is_rest = shown == bytes.size();
    const Found found = scanner.Look(bytes.substr(0, shown), is_rest);
    if (found.kind == Found::Kind::kBroken) return {scanned.rows, scanner.status()};
    if (found.kind == Found::Kind::kEnd) return scanned;
    CHECK(found.skip >= 0 && found.size >= 0);
    const bool has_content = found.kind == Found::Kind::kContent;
    const auto left = static_cast<int64_t>(bytes.size());
    if (found.skip > left || (has_content && found.size > left - found.skip)) {
      return {scanned.rows, absl::DataLossError("ends in the middle")};
    }
    bytes.remove_prefix(found.skip);
    if (found.kind == Found::Kind::kMore) {
      CHECK(found.skip > 0 || !is_rest);
      CHECK(found.skip > 0 || found.size > static_cast<int64_t>(shown));
      shown = found.size;
      continue;
    }
    shown = window;
    if (has_content) {
      row.contents.emplace_back(found.field, bytes.substr(0, found.size));
      bytes.remove_prefix(found.size);
      continue;
    }
    row.begin = scanner.row().begin;
    row.key = scanner.row().key;
    row.why = std::string(scanner.row().why.message());
    const std::optional<uint32_t> crc = scanner.row().crc;
    if (crc && codec::Crc32c(row.contents.at(0).second) != *crc) row.why = "checksum";
    scanned.rows.push_back(std::exchange(row, {}));
  }
}

// For fuzzing: however the bytes are shown, the same rows are found, and what is broken
// is DataLoss. `make` gives a new scanner.
template <typename Make>
void CheckWindowsDoNotMatter(std::string_view bytes, const Make& make) {
  auto in_one = make();
  auto in_parts = make();
  const Scanned whole = ScanAll(in_one, bytes, bytes.size());
  const Scanned cut = ScanAll(in_parts, bytes, 1 + bytes.size() / 3);
  CHECK(whole.rows == cut.rows);
  CHECK(whole.status.code() == cut.status.code());
  CHECK(whole.status.ok() || absl::IsDataLoss(whole.status)) << whole.status;
}

}  // namespace millrace::storage
