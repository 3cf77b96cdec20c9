#include "millrace/api/json.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include <boost/json/src.hpp>  // The library itself: it is compiled here.

#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/base/text.h"

namespace millrace::api {

absl::StatusOr<boost::json::value> ParseJson(std::string_view text,
                                             boost::json::storage_ptr memory) {
  constexpr size_t kBytesMax = size_t{64} << 20;
  if (text.size() > kBytesMax) {
    return absl::InvalidArgumentError(
        base::StrCat("JSON of ", text.size(), " bytes: more than ", kBytesMax));
  }
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(text, error, std::move(memory));
  if (error) {
    return absl::InvalidArgumentError(base::StrCat("no JSON: ", error.message()));
  }
  return value;
}

namespace json_internal {
namespace {

template <Hash T>
absl::Status ReadDigits(const boost::json::value& from, std::string_view wanted,
                        absl::StatusOr<T> (*parse)(std::string_view), T& to) {
  to = {};
  const boost::json::string* const text = from.if_string();
  if (text != nullptr && text->empty()) return absl::OkStatus();
  const absl::StatusOr<T> hash =
      text == nullptr ? absl::InvalidArgumentError("no text") : parse(*text);
  if (!hash.ok()) return WrongKind(from, wanted);
  to = *hash;
  return absl::OkStatus();
}

}  // namespace

absl::Status WrongKind(const boost::json::value& value, std::string_view wanted) {
  constexpr size_t kShownMax = 40;
  std::string shown = boost::json::serialize(value);
  if (shown.size() > kShownMax) shown = shown.substr(0, kShownMax) + "...";
  return absl::InvalidArgumentError(base::StrCat("must be ", wanted, ", not ", shown));
}

absl::Status NotOneOf(const boost::json::value& value,
                      const std::vector<std::string>& texts) {
  return WrongKind(value, base::StrCat("one of ", absl::StrJoin(texts, ", ")));
}

void WriteText(std::string& json, std::string_view from) {
  json += boost::json::serialize(from);
}

// Of what it writes, it reads the very same number.
void WriteDouble(std::string& json, double from) {
  json += boost::json::serialize(boost::json::value(from));
}

std::string EnumText(std::string_view name) {
  if (name.size() > 1 && name[0] == 'k' && absl::ascii_isupper(name[1]) != 0) {
    name.remove_prefix(1);
  }
  std::string text;
  for (const char letter : name) {
    if (absl::ascii_isupper(letter) != 0 && !text.empty()) text += '_';
    text += absl::ascii_tolower(letter);
  }
  return text;
}

absl::Status ReadHash(const boost::json::value& from, base::Hash128& to) {
  return ReadDigits(from, "32 hexadecimal digits", &base::ParseHash128, to);
}

absl::Status ReadHash(const boost::json::value& from, base::Sha256& to) {
  return ReadDigits(from, "64 hexadecimal digits", &base::ParseSha256, to);
}

}  // namespace json_internal
}  // namespace millrace::api
