#include "millrace/adapters/http/upgrade.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/text.h"
#include "millrace/transport/chunks.h"
#include "millrace/transport/prefix.h"

namespace millrace::http {

bool OffersStream(std::string_view upgrade) {
  const std::vector<absl::string_view> offers =
      absl::StrSplit(base::ToAbsl(upgrade), ',');
  return std::ranges::any_of(offers, [](absl::string_view offer) {
    return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(offer),
                                  base::ToAbsl(kStreamProtocol));
  });
}

Header UnpacksHeader() { return {std::string(kUnpacksHeader), "lz4, zstd"}; }

std::vector<transport::PayloadCodec> UnpackedBy(const std::vector<Header>& headers) {
  std::vector<transport::PayloadCodec> codecs;
  const std::vector<absl::string_view> names =
      absl::StrSplit(base::ToAbsl(Find(headers, kUnpacksHeader)), ',');
  for (const absl::string_view name : names) {
    const auto codec =
        transport::CodecOfName(base::ToStd(absl::StripAsciiWhitespace(name)));
    const bool new_one = codec && *codec != transport::PayloadCodec::kNone &&
                         std::ranges::find(codecs, *codec) == codecs.end();
    if (new_one) codecs.push_back(*codec);
  }
  return codecs;
}

Response UpgradeResponse() {
  return {.code = 101,
          .headers = {{"Connection", "Upgrade"},
                      {"Upgrade", std::string(kStreamProtocol)},
                      UnpacksHeader()}};
}

}  // namespace millrace::http
