#include "millrace/metadata/metadata_store.h"

#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "millrace/base/text.h"

namespace millrace::metadata {

absl::Status CheckItemSize(std::string_view what, std::string_view bytes) {
  if (std::cmp_less_equal(bytes.size(), kItemBytesMax)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(what, " is too large to be kept: ", bytes.size(), " bytes, over ",
                   kItemBytesMax, "; cut it into smaller ones"));
}

absl::Status NoSuchObject(std::string_view hash) {
  return absl::NotFoundError(
      base::StrCat("no object has this hash: ", hash, "; put it again"));
}

absl::Status OtherContent(std::string_view hash) {
  return absl::AlreadyExistsError(base::StrCat("another object has this hash: ", hash,
                                               "; an object never changes"));
}

}  // namespace millrace::metadata
