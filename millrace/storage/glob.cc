#include "millrace/storage/glob.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::storage {
namespace {

using Texts = std::vector<std::string>;

// The places of a brace, its partner and the commas between, at the same depth.
struct Braces {
  size_t open = 0;
  size_t close = 0;
  std::vector<size_t> commas;
};

// Finds the partner of an opening brace.
std::optional<Braces> PartnerOf(std::string_view pattern, size_t open) {
  Braces braces = {.open = open, .close = 0, .commas = {}};
  int depth = 0;
  for (size_t i = open; i < pattern.size(); ++i) {
    if (pattern[i] == '\\')
      ++i;
    else if (pattern[i] == '{')
      ++depth;
    else if (pattern[i] == ',' && depth == 1)
      braces.commas.push_back(i);
    else if (pattern[i] == '}' && --depth == 0) {
      braces.close = i;
      return braces;
    }
  }
  return std::nullopt;
}

absl::Status TooMany() {
  return absl::InvalidArgumentError(
      base::StrCat("pattern stands for too many paths: its braces make more than ",
                   kPatternsMax, "; use * or fewer of them"));
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// {000..127}: the numbers, as wide as the wider end when one begins with a zero.
absl::StatusOr<Texts> ExpandRange(std::string_view inside) {
  const size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return Texts{};
  const std::string_view first = inside.substr(0, dots);
  const std::string_view last = inside.substr(dots + 2);
  if (!IsNumber(first) || !IsNumber(last)) return Texts{};
  int64_t from = 0;
  int64_t to = 0;
  if (!absl::SimpleAtoi(base::ToAbsl(first), &from) ||
      !absl::SimpleAtoi(base::ToAbsl(last), &to)) {
    return Texts{};
  }
  if (std::abs(to - from) >= kPatternsMax) return TooMany();
  const bool padded =
      (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
  const size_t width = padded ? std::max(first.size(), last.size()) : 0;
  Texts numbers;
  for (int64_t i = from;; i += from <= to ? 1 : -1) {
    std::string number = base::StrCat(i);
    if (number.size() < width) number.insert(0, width - number.size(), '0');
    numbers.push_back(std::move(number));
    if (i == to) return numbers;
  }
}

absl::StatusOr<Texts> ChoicesOf(std::string_view pattern, const Braces& braces) {
  const std::string_view inside =
      pattern.substr(braces.open + 1, braces.close - braces.open - 1);
  if (braces.commas.empty()) return ExpandRange(inside);
  Texts choices;
  size_t begin = braces.open + 1;
  for (const size_t comma : braces.commas) {
    choices.emplace_back(pattern.substr(begin, comma - begin));
    begin = comma + 1;
  }
  choices.emplace_back(pattern.substr(begin, braces.close - begin));
  return choices;
}

// Finds the first braces from a place on that stand for something.
absl::StatusOr<Texts> FirstChoices(std::string_view pattern, Braces& where) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\')
      ++i;
    else if (pattern[i] == '{') {
      const std::optional<Braces> braces = PartnerOf(pattern, i);
      if (!braces) continue;
      Texts choices = TRY(ChoicesOf(pattern, *braces));
      if (choices.empty()) continue;
      where = *braces;
      return choices;
    }
  }
  return Texts{};
}

// The set in [...] that begins a pattern; nothing when it does not close.
struct CharacterSet {
  size_t size = 0;  // Of its text.
  bool matches = false;
};

std::optional<CharacterSet> MatchSet(std::string_view pattern, char c) {
  size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool matches = false;
  for (const size_t first = i; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > first) return CharacterSet{i + 1, matches != negated};
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    const auto here = static_cast<unsigned char>(c);
    matches = matches || (low <= here && here <= high);
  }
  return std::nullopt;
}

// How much of a pattern matches one character; 0 when it does not.
size_t MatchOne(std::string_view pattern, char c) {
  if (pattern.empty()) return 0;
  if (pattern[0] == '?') return 1;
  if (pattern[0] == '[') {
    if (const std::optional<CharacterSet> set = MatchSet(pattern, c)) {
      return set->matches ? set->size : 0;
    }
  }
  if (pattern[0] == '\\' && pattern.size() > 1) return pattern[1] == c ? 2 : 0;
  return pattern[0] == c ? 1 : 0;
}

std::string Join(const std::string& folder, const std::string& name) {
  if (folder.empty() || folder.ends_with('/')) return folder + name;
  return base::StrCat(folder, "/", name);
}

// Goes down the folders, a step of the pattern at a time.
class Walk {
 public:
  Walk(ListFolder list_folder, Texts& found)
      : list_folder_(list_folder), found_(found) {}

  absl::Status Go(const std::string& folder, std::string_view pattern) {
    const size_t slash = pattern.find('/');
    const std::string_view step = pattern.substr(0, slash);
    if (slash == std::string_view::npos) return Last(folder, step);
    const std::string_view rest = pattern.substr(slash + 1);
    if (step == "**") return Anywhere(folder, rest);
    if (IsPlainPath(step)) return Go(Join(folder, Unescape(step)) + "/", rest);
    for (const FolderEntry& entry : TRY(list_folder_(folder))) {
      if (!entry.is_folder || !MatchesStep(step, entry.name)) continue;
      TRY(Go(Join(folder, entry.name) + "/", rest));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Last(const std::string& folder, std::string_view step) {
    if (step == "**") return Anywhere(folder, "*");
    for (const FolderEntry& entry : TRY(list_folder_(folder))) {
      if (entry.is_folder || !MatchesStep(step, entry.name)) continue;
      found_.push_back(Join(folder, entry.name));
    }
    return absl::OkStatus();
  }

  // `rest` here, and in every folder below.
  absl::Status Anywhere(const std::string& folder, std::string_view rest) {
    TRY(Go(folder, rest));
    for (const FolderEntry& entry : TRY(list_folder_(folder))) {
      if (!entry.is_folder || entry.is_link || entry.name.starts_with('.')) continue;
      TRY(Anywhere(Join(folder, entry.name) + "/", rest));
    }
    return absl::OkStatus();
  }

  ListFolder list_folder_;
  Texts& found_;
};

}  // namespace

absl::StatusOr<Texts> ExpandBraces(std::string_view pattern) {
  Texts done;
  Texts open = {std::string(pattern)};  // The next is at the back.
  while (!open.empty()) {
    const std::string next = std::move(open.back());
    open.pop_back();
    Braces where;
    const Texts choices = TRY(FirstChoices(next, where));
    if (choices.empty()) done.push_back(next);
    for (size_t i = choices.size(); i-- > 0;) {
      open.push_back(base::StrCat(next.substr(0, where.open), choices[i],
                                  next.substr(where.close + 1)));
    }
    if (done.size() + open.size() > kPatternsMax) return TooMany();
  }
  return done;
}

bool MatchesStep(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;  // The last one met, and what it took.
  size_t taken = 0;
  while (n < name.size()) {
    const size_t one = p < pattern.size() && pattern[p] != '*'
                           ? MatchOne(pattern.substr(p), name[n])
                           : 0;
    if (one > 0) {
      p += one;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool IsPlainPath(std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\')
      ++i;
    else if (pattern[i] == '*' || pattern[i] == '?' || pattern[i] == '[')
      return false;
  }
  return true;
}

std::string Unescape(std::string_view pattern) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    path += pattern[i];
  }
  return path;
}

std::string Escape(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (std::string_view("*?[]{},\\").find(c) != std::string_view::npos)
      pattern += '\\';
    pattern += c;
  }
  return pattern;
}

absl::StatusOr<Texts> MatchPattern(std::string_view pattern, ListFolder list_folder) {
  Texts found;
  const bool absolute = pattern.starts_with('/');
  TRY(Walk(list_folder, found)
          .Go(absolute ? "/" : "", pattern.substr(absolute ? 1 : 0)));
  return found;
}

}  // namespace millrace::storage
