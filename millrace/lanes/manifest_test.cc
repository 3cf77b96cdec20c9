#include "millrace/lanes/manifest.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"

namespace millrace::lanes {
namespace {

using absl::StatusCode;
using base::Bytes;
using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

Split MakeSplit(std::string name, int64_t bytes, std::optional<int64_t> rows) {
  return {.name = std::move(name),
          .bytes = Bytes(bytes),
          .version = "v1",
          .rows = rows,
          .seekable = true};
}

Manifest TwoFiles() {
  return {{MakeSplit("a.tar", 100, 10), MakeSplit("b.tar", 50, 5)}};
}

TEST(ManifestTest, AddsUpRowsAndBytes) {
  EXPECT_TRUE(TwoFiles().counted());
  EXPECT_EQ(TwoFiles().total_rows(), 15);
  EXPECT_EQ(TwoFiles().total_bytes(), Bytes(150));
}

TEST(ManifestTest, IsCountedWithoutSplits) {
  EXPECT_TRUE(Manifest().counted());
  EXPECT_EQ(Manifest().total_rows(), 0);
  EXPECT_THAT(Check(Manifest()), IsOk());
}

TEST(ManifestTest, IsNotCountedWhereOneSplitIsNot) {
  Manifest manifest = TwoFiles();
  manifest.splits[1].rows.reset();
  EXPECT_FALSE(manifest.counted());
  EXPECT_THAT(Check(manifest), IsOk());
  EXPECT_DEATH(manifest.total_rows(), "b.tar");
}

TEST(ManifestTest, AcceptsWhatIsLargeButPossible) {
  // range(10^12) is one split that takes no bytes.
  EXPECT_THAT(Check({{MakeSplit("range", 0, 1'000'000'000'000)}}), IsOk());
  EXPECT_THAT(Check({{MakeSplit("all", kSourceBytesMax.count(), kRowsMax)}}), IsOk());
}

TEST(ManifestTest, RefusesAbsurdNumbersNamingTheSplit) {
  struct Case {
    Split split;
    std::string message;
  };

  const std::vector<Case> cases = {
      {MakeSplit("x", 1, -1), "absurd count of -1 rows, in split 1 \"x\""},
      {MakeSplit("x", 1, kRowsMax + 1), "absurd count of 1152921504606846977 rows"},
      {MakeSplit("x", -5, 1), "absurd size of -5 bytes, in split 1 \"x\""},
      {MakeSplit("x", INT64_MAX, 1), "absurd size of 9223372036854775807 bytes"},
      {MakeSplit("", 1, 1), "no name, in split 1"},
      {MakeSplit(std::string(5000, 'n'), 1, 1), "longer than 4096"},
  };
  for (const Case& c : cases) {
    const Manifest manifest{{MakeSplit("first", 1, 1), c.split}};
    EXPECT_THAT(Check(manifest),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(ManifestTest, RefusesALongVersion) {
  Manifest manifest = TwoFiles();
  manifest.splits[0].version = std::string(5000, 'v');
  EXPECT_THAT(Check(manifest),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a.tar")));
}

TEST(ManifestTest, CutsALongNameShortInItsMessage) {
  const std::string message(
      Check({{MakeSplit(std::string(1 << 20, 'n'), 1, 1)}}).message());
  EXPECT_LT(message.size(), 400);
}

TEST(ManifestTest, RefusesSumsThatAreAbsurdThoughNoPartIs) {
  const Manifest rows{{MakeSplit("a", 1, kRowsMax), MakeSplit("b", 1, 1)}};
  EXPECT_THAT(Check(rows), StatusIs(StatusCode::kInvalidArgument,
                                    AllOf(HasSubstr("2^60 rows"), HasSubstr("\"b\""))));
  const int64_t most = kSourceBytesMax.count();
  const Manifest bytes{{MakeSplit("a", most, 1), MakeSplit("b", 1, 1)}};
  EXPECT_THAT(Check(bytes), StatusIs(StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr("2^60 bytes"), HasSubstr("b"))));
}

TEST(ManifestTest, RefusesTooManySplits) {
  EXPECT_THAT(Check(TwoFiles(), 2), IsOk());
  EXPECT_THAT(Check(TwoFiles(), 1),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("too many splits: 2, at most 1")));
}

TEST(ManifestTest, HashesWhatTheStreamDependsOn) {
  const base::Sha256 hash = ContentHash(TwoFiles());
  std::vector<Manifest> others(6, TwoFiles());
  others[0].splits[0].name = "c.tar";
  others[1].splits[0].bytes = Bytes(101);
  others[2].splits[0].rows = 11;
  others[3].splits[0].rows.reset();
  others[4].splits[0].seekable = false;
  std::swap(others[5].splits[0], others[5].splits[1]);
  for (const Manifest& other : others) EXPECT_NE(ContentHash(other), hash);
}

TEST(ManifestTest, HashesRowsApartFromNoRows) {
  const Manifest zero{{MakeSplit("a", 1, 0)}};
  const Manifest unknown{{MakeSplit("a", 1, std::nullopt)}};
  EXPECT_NE(ContentHash(zero), ContentHash(unknown));
}

TEST(ManifestTest, LeavesVersionsOutOfTheHash) {
  Manifest touched = TwoFiles();
  touched.splits[0].version = "v2";
  EXPECT_NE(touched, TwoFiles());
  EXPECT_EQ(ContentHash(touched), ContentHash(TwoFiles()));
}

// The hash is in states on disk: it may never change.
TEST(ManifestTest, KeepsItsHashForEver) {
  EXPECT_EQ(base::ToHex(ContentHash(TwoFiles())),
            "f15c9d8dcadcec2f4bacd8757cae513b7e3aff0a84a09723477431c6b6f840e3");
}

TEST(ManifestTest, TellsTheVersionsOfASplitApartForCaches) {
  const Split split = MakeSplit("a", 1, 1);
  Split touched = split;
  touched.version = "v2";
  EXPECT_EQ(SplitHash(split), SplitHash(touched));
  EXPECT_NE(VersionedSplitHash(split), VersionedSplitHash(touched));
  EXPECT_NE(SplitHash(split), SplitHash(MakeSplit("b", 1, 1)));
  EXPECT_NE(SplitHash(split), SplitHash(MakeSplit("a", 2, 1)));
}

TEST(ManifestTest, NamesASplitWhetherItWasCountedOrNot) {
  Split split = MakeSplit("a", 1, 1);
  Split other = split;
  other.rows.reset();
  other.seekable = false;
  EXPECT_EQ(SplitHash(split), SplitHash(other));
}

// "ab" + "c" and "a" + "bc" are different texts, whatever their joined letters.
TEST(ManifestTest, KeepsNamesAndVersionsApartInHashes) {
  Split one = MakeSplit("ab", 1, 1);
  one.version = "c";
  Split other = MakeSplit("a", 1, 1);
  other.version = "bc";
  EXPECT_NE(VersionedSplitHash(one), VersionedSplitHash(other));
}

}  // namespace
}  // namespace millrace::lanes
