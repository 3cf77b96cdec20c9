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

namespace millrace::http {

bool OffersStream(std::string_view upgrade) {
  const std::vector<absl::string_view> offers =
      absl::StrSplit(base::ToAbsl(upgrade), ',');
  return std::ranges::any_of(offers, [](absl::string_view offer) {
    return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(offer),
                                  base::ToAbsl(kStreamProtocol));
  });
}

Response UpgradeResponse() {
  return {.code = 101,
          .headers = {{"Connection", "Upgrade"},
                      {"Upgrade", std::string(kStreamProtocol)}}};
}

}  // namespace millrace::http
