#include "millrace/api/listing.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <boost/describe.hpp>

#include "millrace/api/json.h"
#include "millrace/base/bytes.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/lanes/listing.h"
#include "millrace/lanes/manifest.h"

namespace millrace::api {
namespace {

constexpr int64_t kVersion = 1;

// By column: there may be a million splits.
struct ManifestMessage {
  bool read = true;  // Nobody reads the source otherwise, and it was not listed.
  std::vector<std::string> names = {};
  std::vector<int64_t> bytes = {};
  std::vector<std::string> versions = {};
  std::vector<std::optional<int64_t>> rows = {};
  std::vector<bool> seekable = {};
  std::vector<int64_t> grains = {};
};

BOOST_DESCRIBE_STRUCT(ManifestMessage, (),
                      (read, names, bytes, versions, rows, seekable, grains))

struct ListingMessage {
  int64_t version = kVersion;
  std::string hash = "";
  std::vector<ManifestMessage> sources = {};
};

BOOST_DESCRIBE_STRUCT(ListingMessage, (), (version, hash, sources))

ManifestMessage MessageOf(const std::optional<lanes::Manifest>& manifest) {
  ManifestMessage message = {.read = manifest.has_value()};
  if (!manifest) return message;
  for (const lanes::Split& split : manifest->splits) {
    message.names.push_back(split.name);
    message.bytes.push_back(split.bytes.count());
    message.versions.push_back(split.version);
    message.rows.push_back(split.rows);
    message.seekable.push_back(split.seekable);
    message.grains.push_back(split.grain);
  }
  return message;
}

absl::StatusOr<std::optional<lanes::Manifest>> ManifestOf(ManifestMessage from) {
  if (!from.read) return std::nullopt;
  const size_t splits = from.names.size();
  for (const size_t others : {from.bytes.size(), from.versions.size(), from.rows.size(),
                              from.seekable.size(), from.grains.size()}) {
    if (others == splits) continue;
    return absl::InvalidArgumentError(base::StrCat(
        "a listing names ", splits, " splits, and says something of ", others));
  }
  lanes::Manifest manifest;
  for (size_t i = 0; i < splits; ++i) {
    manifest.splits.push_back({.name = std::move(from.names[i]),
                               .bytes = base::Bytes(from.bytes[i]),
                               .version = std::move(from.versions[i]),
                               .rows = from.rows[i],
                               .seekable = from.seekable[i],
                               .grain = from.grains[i]});
  }
  TRY(lanes::Check(manifest));
  return manifest;
}

}  // namespace

std::string ListingToJson(const lanes::Listing& listing) {
  ListingMessage message = {.hash = base::ToHex(lanes::ContentHash(listing))};
  for (const std::optional<lanes::Manifest>& manifest : listing) {
    message.sources.push_back(MessageOf(manifest));
  }
  return ToJson(message);
}

absl::StatusOr<lanes::Listing> ListingFromJson(std::string_view text) {
  auto message = TRY(FromJson<ListingMessage>(text));
  if (message.version > kVersion) {
    return absl::InvalidArgumentError(
        base::StrCat("the listing has version ", message.version,
                     ": a newer Millrace wrote it; this one reads up to ", kVersion));
  }
  lanes::Listing listing;
  for (ManifestMessage& source : message.sources) {
    listing.push_back(TRY(ManifestOf(std::move(source))));
  }
  const std::string hash = base::ToHex(lanes::ContentHash(listing));
  if (hash == message.hash) return listing;
  return absl::DataLossError(base::StrCat("the listing is damaged: its hash is ", hash,
                                          ", and it says ", message.hash));
}

}  // namespace millrace::api
