#include "millrace/storage/tar.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"

#include "millrace/base/text.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::storage {
namespace {

constexpr int64_t kUnit = 512;  // Headers are one; content is filled up to whole ones.
constexpr int64_t kExtraMax = int64_t{1} << 20;  // Of long names and pax records.
constexpr int64_t kSizeMax = int64_t{1} << 60;

// A field of a header, up to its first zero.
std::string_view TextIn(std::string_view header, size_t begin, size_t size) {
  const std::string_view field = header.substr(begin, size);
  return field.substr(0, field.find('\0'));
}

// A number in octal, or in base 256 when its first bit is set.
std::optional<int64_t> NumberIn(std::string_view header, size_t begin, size_t size) {
  std::string_view field = header.substr(begin, size);
  if ((static_cast<uint8_t>(field[0]) & 0x80) != 0) {
    uint64_t number = static_cast<uint8_t>(field[0]) & 0x7f;
    for (const char c : field.substr(1)) {
      if (number >= kSizeMax >> 8) return std::nullopt;
      number = number << 8 | static_cast<uint8_t>(c);
    }
    return static_cast<int64_t>(number);
  }
  field = TextIn(header, begin, size);
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  int64_t number = 0;
  for (const char c : field) {
    if (c < '0' || c > '7' || number >= kSizeMax >> 3) return std::nullopt;
    number = number << 3 | (c - '0');
  }
  return number;
}

// The sum of a header's bytes, those of the stored sum itself counted as spaces.
template <typename Byte>
int SumOf(std::string_view header) {
  constexpr size_t kStored = 148;
  int sum = 0;  // A simple loop: compilers make wide instructions of it.
  for (const char c : header) sum += static_cast<Byte>(c);
  for (const char c : header.substr(kStored, 8)) sum += ' ' - static_cast<Byte>(c);
  return sum;
}

bool ChecksumFits(std::string_view header) {
  const std::optional<int64_t> stored = NumberIn(header, 148, 8);
  if (!stored) return false;
  // Some old programs summed bytes with a sign.
  return *stored == SumOf<uint8_t>(header) || *stored == SumOf<int8_t>(header);
}

std::string PathIn(std::string_view header) {
  const std::string_view name = TextIn(header, 0, 100);
  // GNU's headers have the same mark with a space behind, and other things here.
  const bool is_ustar = header.substr(257, 6) == std::string_view("ustar\0", 6);
  const std::string_view prefix = is_ustar ? TextIn(header, 345, 155) : "";
  return prefix.empty() ? std::string(name) : base::StrCat(prefix, "/", name);
}

bool IsZero(std::string_view header) {
  return header.find_first_not_of('\0') == std::string_view::npos;
}

int64_t PaddingOf(int64_t size) { return (kUnit - size % kUnit) % kUnit; }

bool IsFile(char type) { return type == '0' || type == '\0' || type == '7'; }

// Links, devices and folders have no content, whatever their size says.
bool HasNoContent(char type) { return type >= '1' && type <= '6'; }

// A decimal number, and nothing else.
std::optional<int64_t> DecimalOf(std::string_view digits) {
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  int64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + (c - '0');
  }
  return number;
}

bool IsMeta(std::string_view path) {
  const std::string_view step = path.substr(0, path.find('/'));
  return step.size() >= 4 && step.starts_with("__") && step.ends_with("__");
}

// The place of the dot that ends a path's key; nothing when it has none.
std::optional<size_t> DotOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t dot = path.find('.', slash == std::string_view::npos ? 0 : slash + 1);
  if (dot == std::string_view::npos || dot == 0 || IsMeta(path)) return std::nullopt;
  return dot;
}

}  // namespace

std::optional<TarName> SplitTarName(std::string_view path) {
  const std::optional<size_t> dot = DotOf(path);
  if (!dot) return std::nullopt;
  return TarName{std::string(path.substr(0, *dot)),
                 absl::AsciiStrToLower(base::ToAbsl(path.substr(*dot + 1)))};
}

TarScanner::TarScanner(TarOptions options)
    : options_(std::move(options)),
      offset_(options_.offset),
      member_begin_(options_.offset),
      seen_(options_.fields.size()) {}

Found TarScanner::Look(std::string_view bytes, bool is_rest) {
  if (ended_) return Ended();
  if (padding_ == 0) return LookAtHeader(bytes, is_rest);
  // Behind content: what fills it up may not have been shown yet.
  offset_ += padding_;
  member_begin_ = offset_;
  return More(kUnit, std::exchange(padding_, 0));
}

Found TarScanner::Damaged(std::string_view what) {
  return Broken(absl::DataLossError(base::StrCat(
      "tar has ", what, " at byte ", offset_,
      ": the file is damaged or cut off, or is no tar (or a compressed one "
      "whose name does not end in .gz, .zst, .lz4 or .sz)")));
}

Found TarScanner::Ended() {
  ended_ = true;
  return row_open_ ? EndRow() : End();
}

Found TarScanner::LookAtHeader(std::string_view bytes, bool is_rest) {
  if (bytes.size() < kUnit) {
    if (!is_rest) return More(kUnit);
    if (!bytes.empty() || extra_.any) return Damaged("a header that is cut off");
    return Ended();  // Without the zeros that should be there: complete all the same.
  }
  const std::string_view header = bytes.substr(0, kUnit);
  if (header[0] == '\0' && IsZero(header)) {
    return extra_.any ? Damaged("no member behind a header that is about one")
                      : Ended();
  }
  if (!std::exchange(is_checked_, false) && !ChecksumFits(header)) {
    return Damaged("a corrupt header");
  }
  const std::optional<int64_t> size = NumberIn(header, 124, 12);
  if (!size || *size > kSizeMax) return Damaged("a header with an impossible size");
  const char type = header[156];
  if (type == 'S') return Damaged("a sparse file, which is not supported,");
  if (type == 'x' || type == 'L') return TakeExtra(bytes, type, *size, is_rest);
  if (type == 'g' || type == 'K') {  // Global records; long targets of links.
    extra_.any = extra_.any || type == 'K';
    return PassMember(*size);
  }
  const int64_t content = HasNoContent(type) ? 0 : extra_.size.value_or(*size);
  if (IsFile(type) && !extra_.path.empty()) return TakeFile(extra_.path, content);
  if (IsFile(type)) return TakeFile(PathIn(header), content);
  extra_ = {};
  return PassMember(content);
}

// Takes a file's header, once it is clear whether the row before it is complete.
Found TarScanner::TakeFile(std::string_view path, int64_t size) {
  const std::optional<size_t> dot = DotOf(path);
  if (!dot || path.ends_with('/')) {
    extra_ = {};
    return PassMember(size);
  }
  const std::string_view key = path.substr(0, *dot);
  if (row_open_ && key != key_) {
    is_checked_ = true;  // It will be looked at again.
    return EndRow();
  }
  if (!row_open_) {
    row_open_ = true;
    row_begin_ = member_begin_;
    key_ = key;
    names_.clear();
  }
  const int field = FieldNumber(path.substr(*dot + 1));
  if (extra_.any) extra_ = {};
  if (field < 0) return PassMember(size);
  offset_ += kUnit + size;
  padding_ = PaddingOf(size);
  if (padding_ == 0) member_begin_ = offset_;
  return Content(kUnit, size, field);
}

// Which of the fields asked for this is; -1 when none. Twice in a row is the row's
// fault.
int TarScanner::FieldNumber(std::string_view field) {
  lower_ = field;
  absl::AsciiStrToLower(&lower_);
  if (options_.keeps_names) names_.push_back(lower_);
  const auto found = std::ranges::find(options_.fields, lower_);
  if (found == options_.fields.end()) return -1;
  const int64_t number = found - options_.fields.begin();
  if (!seen_[number]) {
    seen_[number] = true;
    return static_cast<int>(number);
  }
  why_ = absl::DataLossError(
      base::StrCat("tar has field ", lower_, " twice in row ", key_));
  return -1;
}

// Passes over a header and its content.
Found TarScanner::PassMember(int64_t size) {
  const int64_t whole = kUnit + size + PaddingOf(size);
  offset_ += whole;
  member_begin_ = offset_;
  return More(kUnit, whole);
}

Found TarScanner::EndRow() {
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (!seen_[i] && why_.ok()) {
      why_ = absl::DataLossError(
          base::StrCat("tar has no field ", options_.fields[i], " in row ", key_));
    }
    seen_[i] = false;
  }
  row_open_ = false;
  std::swap(ended_key_, key_);
  row_.begin = row_begin_;
  row_.key = ended_key_;
  row_.why = std::exchange(why_, absl::OkStatus());
  return Row(0);
}

// Takes a header whose content is about the next member, with that content.
Found TarScanner::TakeExtra(std::string_view bytes, char type, int64_t size,
                            bool is_rest) {
  if (size > kExtraMax) return Damaged("an extra header of absurd size");
  const int64_t whole = kUnit + size + PaddingOf(size);
  if (static_cast<int64_t>(bytes.size()) < whole) {
    is_checked_ = true;
    return is_rest ? Damaged("an extra header that is cut off") : More(whole);
  }
  const std::string_view content = bytes.substr(kUnit, size);
  extra_.any = true;
  if (type == 'x') {
    const absl::Status taken = TakeRecords(content);
    if (!taken.ok()) return Broken(taken);
  } else if (extra_.path.empty()) {  // What pax says counts more.
    extra_.path = content.substr(0, content.find('\0'));
  }
  offset_ += whole;
  return More(kUnit, whole);
}

// Takes pax records: "<length of all of it> <name>=<value>\n".
absl::Status TarScanner::TakeRecords(std::string_view records) {
  const absl::Status corrupt = absl::DataLossError(
      base::StrCat("tar has a corrupt pax record at byte ", offset_));
  while (!records.empty() && records.front() != '\0') {
    const size_t space = records.find(' ');
    const std::optional<int64_t> length = DecimalOf(records.substr(0, space));
    if (space == std::string_view::npos || !length ||
        *length > static_cast<int64_t>(records.size()) ||
        *length < static_cast<int64_t>(space) + 3 || records[*length - 1] != '\n') {
      return corrupt;
    }
    const std::string_view record =
        records.substr(space + 1, *length - static_cast<int64_t>(space) - 2);
    records.remove_prefix(*length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return corrupt;
    const std::string_view name = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (name == "path") extra_.path = value;
    if (name != "size") continue;
    extra_.size = DecimalOf(value);
    if (!extra_.size || *extra_.size > kSizeMax) return corrupt;
  }
  return absl::OkStatus();
}

}  // namespace millrace::storage
