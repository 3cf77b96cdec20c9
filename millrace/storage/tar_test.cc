#include "millrace/storage/tar.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/storage/samples_test.h"
#include "millrace/storage/scan_test.h"

namespace millrace::storage {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Scanned Scan(std::string_view bytes, std::vector<std::string> fields = {"txt"},
             size_t window = 1 << 20) {
  TarScanner scanner({.offset = 0, .fields = std::move(fields)});
  return ScanAll(scanner, bytes, window);
}

ScannedRow Row(int64_t begin, const std::string& key, const std::string& content) {
  return {.begin = begin, .key = key, .contents = {{0, content}}};
}

TEST(TarTest, SplitsNamesAsWebdatasetDoes) {
  const auto name = [](std::string key, std::string field) {
    return std::optional<TarName>({std::move(key), std::move(field)});
  };
  EXPECT_EQ(SplitTarName("a.jpg"), name("a", "jpg"));
  EXPECT_EQ(SplitTarName("a.seg.PNG"), name("a", "seg.png"));
  EXPECT_EQ(SplitTarName("dir.v1/a.jpg"), name("dir.v1/a", "jpg"));
  EXPECT_EQ(SplitTarName("./a.jpg"), name("./a", "jpg"));
  EXPECT_EQ(SplitTarName("d/.b.jpg"), name("d/", "b.jpg"));
  EXPECT_EQ(SplitTarName("a."), name("a", ""));
  EXPECT_EQ(SplitTarName("README"), std::nullopt);
  EXPECT_EQ(SplitTarName("dir.v1/README"), std::nullopt);
  EXPECT_EQ(SplitTarName(".hidden"), std::nullopt);
  EXPECT_EQ(SplitTarName("__meta__/a.json"), std::nullopt);
  EXPECT_EQ(SplitTarName("__a__.json"), name("__a__", "json"));
  EXPECT_EQ(SplitTarName(""), std::nullopt);
}

TEST(TarTest, GroupsNeighboursOfOneKeyIntoRows) {
  const std::string bytes = TarMember("a.txt", "one") + TarMember("a.cls", "1") +
                            TarMember("b.CLS", "2") + TarMember("b.txt", "two") +
                            TarEnd();
  for (const size_t window : {0, 1, 512, 700, 100'000}) {
    const Scanned scanned = Scan(bytes, {"txt", "cls"}, window);
    EXPECT_THAT(scanned.status, IsOk());
    EXPECT_THAT(scanned.rows,
                ElementsAre(ScannedRow{0, "a", {{0, "one"}, {1, "1"}}},
                            ScannedRow{2048, "b", {{1, "2"}, {0, "two"}}}));
  }
}

TEST(TarTest, PassesOverWhatIsNotAsked) {
  const std::string bytes =
      TarMember("d/", "", '5') + TarMember("d/a.txt", "one") +
      TarMember("d/a.jpg", Noise(5000)) + TarMember("link.txt", "", '2') +
      TarMember("README", "not a row") + TarMember("__x__", "nor this") +
      TarMember("d/b.txt", "two") + TarEnd();
  const Scanned scanned = Scan(bytes);
  EXPECT_THAT(scanned.status, IsOk());
  EXPECT_THAT(scanned.rows,
              ElementsAre(Row(512, "d/a", "one"), Row(512 * 19, "d/b", "two")));
}

TEST(TarTest, ARowThatLacksAFieldIsBadAndNamed) {
  const Scanned scanned = Scan(TarMember("a.txt", "1") + TarMember("b.cls", "2") +
                               TarMember("c.txt", "3") + TarEnd());
  EXPECT_THAT(scanned.status, IsOk());
  ASSERT_THAT(scanned.rows, SizeIs(3));
  EXPECT_EQ(scanned.rows[0], Row(0, "a", "1"));
  EXPECT_EQ(scanned.rows[1].why, "tar has no field txt in row b");
  EXPECT_EQ(scanned.rows[2], Row(2048, "c", "3"));
}

TEST(TarTest, ARowWithAFieldTwiceIsBadAndNamed) {
  const Scanned scanned = Scan(TarMember("a.txt", "1") + TarMember("a.TXT", "2") +
                               TarMember("b.txt", "3") + TarEnd());
  ASSERT_THAT(scanned.rows, SizeIs(2));
  EXPECT_EQ(scanned.rows[0].why, "tar has field txt twice in row a");
  EXPECT_EQ(scanned.rows[1].why, "");
}

TEST(TarTest, KeysThatComeBackAreRowsAgain) {
  const Scanned scanned = Scan(TarMember("a.txt", "1") + TarMember("b.txt", "2") +
                               TarMember("a.txt", "3") + TarEnd());
  EXPECT_THAT(scanned.rows,
              ElementsAre(Row(0, "a", "1"), Row(1024, "b", "2"), Row(2048, "a", "3")));
}

TEST(TarTest, ReadsGnuLongNames) {
  const std::string path = std::string(150, 'x') + "/a.txt";
  const std::string bytes =
      TarMember("z.txt", "0") +
      TarMember("././@LongLink", path + std::string(1, '\0'), 'L') +
      TarMember(path.substr(0, 100), "one") + TarEnd();
  for (const size_t window : {0, 100'000}) {
    EXPECT_THAT(
        Scan(bytes, {"txt"}, window).rows,
        ElementsAre(Row(0, "z", "0"), Row(1024, std::string(150, 'x') + "/a", "one")));
  }
}

TEST(TarTest, ReadsPaxPathsAndSizes) {
  const std::string content = Noise(600);
  const std::string bytes = PaxHeader({"mtime=1.5", "path=long/name.txt", "size=600"}) +
                            TarHeader("short", 0) + content + TarPadding(600) +
                            TarMember("b.txt", "two") + TarEnd();
  EXPECT_THAT(Scan(bytes).rows,
              ElementsAre(Row(0, "long/name", content), Row(2560, "b", "two")));
}

TEST(TarTest, ReadsPrefixesOfUstar) {
  std::string header = TarHeader("a.txt", 3);
  header.replace(345, 5, "d/e.f");
  const std::string bytes = WithTarChecksum(header) + "one" + TarPadding(3) + TarEnd();
  EXPECT_THAT(Scan(bytes).rows, ElementsAre(Row(0, "d/e.f/a", "one")));
  header.replace(257, 8, std::string_view("ustar  \0", 8));  // GNU's own.
  EXPECT_THAT(Scan(WithTarChecksum(header) + "one" + TarPadding(3)).rows,
              ElementsAre(Row(0, "a", "one")));
}

TEST(TarTest, ReadsSizesInBase256) {
  std::string header = TarHeader("a.txt", 0);
  header.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\x02\x58", 12));
  const std::string content = Noise(600);
  EXPECT_THAT(Scan(WithTarChecksum(header) + content + TarPadding(600)).rows,
              ElementsAre(Row(0, "a", content)));
  header.replace(124, 12, std::string(12, '\xff'));
  EXPECT_THAT(Scan(WithTarChecksum(header)).status,
              StatusIs(kDataLoss, HasSubstr("impossible size at byte 0")));
}

TEST(TarTest, GlobalRecordsAndLongLinksArePassedOver) {
  const std::string bytes = TarMember("g", "30 comment=no records at all\n", 'g') +
                            TarMember("././@LongLink", std::string(200, 'l'), 'K') +
                            TarMember("link", "", '2') + TarMember("a.txt", "one");
  EXPECT_THAT(Scan(bytes).rows, ElementsAre(Row(512 * 5, "a", "one")));
}

TEST(TarTest, EndsAtZerosOrWithTheFile) {
  const std::string one = TarMember("a.txt", "1");
  EXPECT_THAT(Scan(one).rows, SizeIs(1));
  EXPECT_THAT(Scan(one + TarEnd()).rows, SizeIs(1));
  EXPECT_THAT(Scan(one + TarEnd() + one).rows, SizeIs(1));
  EXPECT_THAT(Scan(one + TarEnd() + std::string(9000, '\0')).status, IsOk());
  EXPECT_THAT(Scan("").status, IsOk());
  EXPECT_THAT(Scan(TarEnd()).rows, IsEmpty());
}

TEST(TarTest, ABrokenHeaderLosesTheRest) {
  std::string bytes = TarMember("a.txt", "1") + TarMember("b.txt", "2") +
                      TarMember("c.txt", "3") + TarEnd();
  bytes[1024 + 3] ^= 4;
  const Scanned scanned = Scan(bytes);
  EXPECT_THAT(scanned.status,
              StatusIs(kDataLoss, HasSubstr("corrupt header at byte 1024")));
}

TEST(TarTest, BrokenExtrasAreErrors) {
  EXPECT_THAT(Scan(TarMember("x", "99 path=a\n", 'x')).status,
              StatusIs(kDataLoss, HasSubstr("corrupt pax record")));
  EXPECT_THAT(Scan(TarMember("x", "no number\n", 'x')).status, StatusIs(kDataLoss));
  EXPECT_THAT(Scan(TarMember("x", "12 size=abc\n", 'x')).status, StatusIs(kDataLoss));
  EXPECT_THAT(Scan(TarMember("x", "8 pathh\n", 'x')).status, StatusIs(kDataLoss));
  EXPECT_THAT(Scan(TarHeader("x", int64_t{1} << 30, 'x')).status,
              StatusIs(kDataLoss, HasSubstr("absurd size")));
  EXPECT_THAT(Scan(PaxHeader({"path=a.txt"}) + TarEnd()).status,
              StatusIs(kDataLoss, HasSubstr("no member")));
  EXPECT_THAT(Scan(TarMember("a", "", 'S')).status,
              StatusIs(kDataLoss, HasSubstr("sparse")));
}

TEST(TarTest, IsCutOffAnywhereButBetweenMembers) {
  const std::string bytes = PaxHeader({"path=a.txt"}) + TarMember("s", "1") +
                            TarMember("b.txt", "2") + TarEnd();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Scanned scanned = Scan(std::string_view(bytes).substr(0, size));
    const bool between = size == 0 || size == 2048 || size == 3072 || size >= 3584;
    EXPECT_EQ(scanned.status.ok(), between) << size;
    EXPECT_TRUE(between || scanned.status.code() == kDataLoss) << size;
  }
}

TEST(TarTest, SomethingElseIsNotTakenForIt) {
  EXPECT_THAT(Scan(Noise(2000)).status, StatusIs(kDataLoss, HasSubstr("is no tar")));
}

TEST(TarTest, KeepsTheNamesOfAllFieldsWhereWanted) {
  const std::string bytes = TarMember("a.jpg", "image") + TarMember("a.CLS", "1") +
                            TarMember("b.txt", "x") + TarEnd();
  TarScanner scanner({.fields = {"cls"}, .keeps_names = true});
  std::string_view rest = bytes;
  std::vector<std::vector<std::string>> names;
  while (true) {
    const Found found = scanner.Look(rest, true);
    rest.remove_prefix(found.skip);
    if (found.kind == Found::Kind::kContent) rest.remove_prefix(found.size);
    if (found.kind == Found::Kind::kRow) names.push_back(scanner.names());
    if (found.kind == Found::Kind::kEnd) break;
  }
  EXPECT_THAT(names, ElementsAre(ElementsAre("jpg", "cls"), ElementsAre("txt")));
}

}  // namespace
}  // namespace millrace::storage
