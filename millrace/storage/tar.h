// Tar files as WebDataset writes them: members that share a key are one row, and stand
// beside each other.
//
//   dir/0001.jpg  ┐                       key        "dir/0001": up to the first dot
//   dir/0001.cls  ┴─ one row              fields     "jpg", "cls": behind it, in lower
//   dir/0002.seg.png ── the next                     case; "seg.png"
//
// Reads ustar, GNU tar's long names and pax headers (path, size), sizes in octal and
// base 256. Folders, links and devices are passed over, and so are names without a key
// and names such as __meta__. A broken header loses the rest of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

struct TarOptions {
  int64_t offset = 0;  // Of the first header in the file.
  // The fields to give content of; others are passed over. A row without one of them is
  // bad.
  std::vector<std::string> fields = {};
  bool keeps_names = false;  // See names().
};

// A path's key and field, as WebDataset splits it; nothing when it has no key.
struct TarName {
  std::string key;
  std::string field;

  friend bool operator==(const TarName&, const TarName&) = default;
};

std::optional<TarName> SplitTarName(std::string_view path);

class TarScanner final : public RowScanner {
 public:
  explicit TarScanner(TarOptions options);

  Found Look(std::string_view bytes, bool is_rest) override;

  // All fields of the row found last, also those that are passed over, where they are
  // kept.
  const std::vector<std::string>& names() const { return names_; }

 private:
  // What extra headers say of the member behind them.
  struct Extra {
    std::string path;
    std::optional<int64_t> size;
    bool any = false;
  };

  Found LookAtHeader(std::string_view bytes, bool is_rest);
  Found TakeFile(std::string_view path, int64_t size);
  Found TakeExtra(std::string_view bytes, char type, int64_t size, bool is_rest);
  Found Damaged(std::string_view what);
  Found PassMember(int64_t size);
  Found EndRow();
  Found Ended();
  absl::Status TakeRecords(std::string_view records);
  int FieldNumber(std::string_view field);

  const TarOptions options_;
  int64_t offset_;        // Of the place reached.
  int64_t member_begin_;  // Of the member's first header, extra ones included.
  int64_t padding_ = 0;   // Behind the content given last.
  Extra extra_;
  bool is_checked_ = false;  // The header at this place was found to be good.
  bool ended_ = false;

  bool row_open_ = false;
  int64_t row_begin_ = 0;
  std::string key_;
  std::string ended_key_;  // Of the row given last.
  std::string lower_;      // The field looked at, in lower case.
  absl::Status why_;
  std::vector<bool> seen_;  // Of the fields asked for, in this row.
  std::vector<std::string> names_;
};

}  // namespace millrace::storage
