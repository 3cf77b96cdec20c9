#include "millrace/api/json.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <boost/json/src.hpp>  // The library itself: it is compiled here.

#include "millrace/base/text.h"

namespace millrace::api {

absl::StatusOr<boost::json::value> ParseJson(std::string_view text) {
  constexpr size_t kBytesMax = size_t{64} << 20;
  if (text.size() > kBytesMax) {
    return absl::InvalidArgumentError(
        base::StrCat("JSON of ", text.size(), " bytes: more than ", kBytesMax));
  }
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  if (error) {
    return absl::InvalidArgumentError(base::StrCat("no JSON: ", error.message()));
  }
  return value;
}

namespace json_internal {

absl::Status WrongKind(const boost::json::value& value, std::string_view wanted) {
  constexpr size_t kShownMax = 40;
  std::string shown = boost::json::serialize(value);
  if (shown.size() > kShownMax) shown = shown.substr(0, kShownMax) + "...";
  return absl::InvalidArgumentError(base::StrCat("must be ", wanted, ", not ", shown));
}

}  // namespace json_internal
}  // namespace millrace::api
