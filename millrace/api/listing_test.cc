#include "millrace/api/listing.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/listing.h"
#include "millrace/lanes/manifest.h"

namespace millrace::api {
namespace {

using base::StatusIs;
using ::testing::HasSubstr;

lanes::Listing Example() {
  lanes::Manifest files;
  files.splits = {{.name = "data/\"a\".tar",
                   .bytes = base::Bytes(1000),
                   .version = "12:34",
                   .rows = 10,
                   .seekable = true,
                   .grain = 4},
                  {.name = "data/b.tar",
                   .bytes = base::Bytes(7),
                   .version = "",
                   .rows = std::nullopt}};
  return {files, std::nullopt, lanes::Manifest()};
}

TEST(ListingTest, ComesBackAsItWas) {
  const lanes::Listing listing = Example();
  EXPECT_EQ(*ListingFromJson(ListingToJson(listing)), listing);
  EXPECT_EQ(*ListingFromJson(ListingToJson({})), lanes::Listing());
}

TEST(ListingTest, SaysTheHashThatAStateHas) {
  EXPECT_THAT(ListingToJson(Example()),
              HasSubstr(base::ToHex(lanes::ContentHash(Example()))));
}

TEST(ListingTest, WhatWasChangedIsDamaged) {
  const std::string text = ListingToJson(Example());
  EXPECT_THAT(ListingFromJson(absl::StrReplaceAll(text, {{"1000", "1001"}})).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged")));
}

TEST(ListingTest, WhatIsAbsurdIsRefused) {
  const std::string text = ListingToJson(Example());
  EXPECT_THAT(ListingFromJson(absl::StrReplaceAll(text, {{"1000", "-1"}})).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absurd size")));
  EXPECT_THAT(
      ListingFromJson(absl::StrReplaceAll(text, {{"[1000,7]", "[1000]"}})).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 splits")));
  EXPECT_THAT(
      ListingFromJson(absl::StrReplaceAll(text, {{"\"version\":1", "\"version\":2"}}))
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("newer Millrace")));
  EXPECT_FALSE(ListingFromJson("[").ok());
}

}  // namespace
}  // namespace millrace::api
