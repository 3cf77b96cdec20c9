#include "millrace/lanes/listing.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {
namespace {

using base::IsOk;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Manifest Files(const std::vector<std::string>& names, std::optional<int64_t> rows) {
  Manifest manifest;
  for (const std::string& name : names) {
    manifest.splits.push_back({.name = name,
                               .bytes = base::Bytes(100),
                               .version = "1",
                               .rows = rows,
                               .seekable = rows.has_value()});
  }
  return manifest;
}

TEST(ListingTest, OneSourceHasTheHashOfItsManifest) {
  const Manifest files = Files({"a", "b"}, 10);
  EXPECT_EQ(ContentHash(Listing{files}), ContentHash(files));
}

TEST(ListingTest, TheHashGoesByAllSourcesInOrder) {
  const Manifest a = Files({"a"}, 10);
  const Manifest b = Files({"b"}, 10);
  EXPECT_NE(ContentHash(Listing{a, b}), ContentHash(Listing{b, a}));
  EXPECT_NE(ContentHash(Listing{a, b}), ContentHash(Listing{a, std::nullopt}));
  EXPECT_EQ(ContentHash(Listing{std::nullopt}), base::Sha256());
}

TEST(ListingTest, AnotherVersionIsTheSameData) {
  const Manifest listed = Files({"a", "b"}, 10);
  Manifest found = listed;
  found.splits[1].version = "2";
  EXPECT_THAT(CheckSame(listed, found), IsOk());
}

TEST(ListingTest, RowsThatWereNotCountedMayBeCountedNow) {
  EXPECT_THAT(CheckSame(Files({"a"}, std::nullopt), Files({"a"}, 10)), IsOk());
  EXPECT_FALSE(CheckSame(Files({"a"}, 10), Files({"a"}, std::nullopt)).ok());
}

TEST(ListingTest, TheFirstDifferenceIsNamed) {
  const Manifest listed = Files({"a", "b", "c"}, 10);
  Manifest found = listed;
  found.splits[1].bytes = base::Bytes(7);
  EXPECT_THAT(CheckSame(listed, found),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("split 1"), HasSubstr("\"b\" of 100 bytes"),
                             HasSubstr("\"b\" of 7 bytes"))));
  EXPECT_THAT(CheckSame(listed, Files({"a", "b"}, 10)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("there were 3 splits, and are 2")));
}

}  // namespace
}  // namespace millrace::lanes
