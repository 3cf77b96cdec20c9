#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/spec.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using storage::TarEnd;
using storage::TarMember;
using storage::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

std::string Sample(std::string_view name) {
  return base::SourcePath(base::StrCat("millrace/ops/testdata/samples/", name));
}

std::string ReadTar(const std::string& path, std::string_view fields) {
  return Call("read_tar", path, base::StrCat(", fields=[", fields, "]"));
}

// What tools/format_samples.py wrote.
std::vector<PlainRow> SampleRows() {
  std::vector<PlainRow> rows;
  for (const size_t size : {0, 1, 100, 300, 17}) {
    const size_t row = rows.size();
    std::string record(size, '\0');
    for (size_t i = 0; i < size; ++i) record[i] = static_cast<char>(row + i);
    rows.push_back({{"__key__", base::StrCat("folder/sample00", row)},
                    {"cls", base::StrCat(10 * static_cast<int>(row) - 10)},
                    {"txt", base::StrCat("text ", row, " \xc3\xa9")},
                    {"seg.png", record}});
  }
  return rows;
}

TEST(ReadTarTest, ReadsWhatWebdatasetWrote) {
  for (const char* name : {"plain.tar", "zipped.tar.gz", "zipped.tar.zst"}) {
    const auto rows = ReadPlain(ReadTar(Sample(name), "\"cls\", \"txt\", \"seg.png\""));
    ASSERT_THAT(rows, IsOk()) << name;
    EXPECT_EQ(rows->rows, SampleRows()) << name;
  }
}

TEST(ReadTarTest, ReadsNamesThatAreTooLongForUstar) {
  const auto rows = ReadPlain(ReadTar(Sample("long.tar.gz"), "\"cls\""));
  ASSERT_THAT(rows, IsOk());
  ASSERT_THAT(rows->rows, SizeIs(2));
  EXPECT_EQ(rows->rows[1].at("__key__"),
            std::string(120, 'd') + "/" + std::string(130, 'k') + "1");
  EXPECT_EQ(rows->rows[1].at("cls"), "0");
}

TEST(ReadTarTest, TypesFollowTheFieldsNames) {
  const auto node = ir::Parse(
      "%0 = read_tar(paths=[\"a\"], fields=[\"jpg\", \"cls\", \"a.cls\", \"index\", "
      "\"txt\", \"json\", \"__key__\"])",
      {}, DefaultLibrary().catalog());
  ASSERT_THAT(node, IsOk());
  EXPECT_EQ(node->spec().ToString(),
            "{jpg: bytes, cls: int64, a.cls: int64, index: int64, txt: string, "
            "json: bytes, __key__: string}");
}

TEST(ReadTarTest, RefusesFieldsThatCannotBe) {
  const auto parse = [](std::string_view fields) {
    return ReadPlain(ReadTar("a.tar", fields)).status();
  };
  EXPECT_THAT(parse("\"a\", \"a\""), StatusIs(kInvalidArgument, HasSubstr("twice: a")));
  EXPECT_THAT(parse("\"JPG\""), StatusIs(kInvalidArgument, HasSubstr("lower case")));
  EXPECT_THAT(parse("\"\""), StatusIs(kInvalidArgument));
}

TEST(ReadTarTest, FieldsThatAreNotListedAreNotRead) {
  const TemporaryFolder folder;
  std::string bytes;
  for (const char* key : {"a", "b", "c"}) {
    bytes += TarMember(base::StrCat(key, ".jpg"), storage::Noise(3'000'000));
    bytes += TarMember(base::StrCat(key, ".cls"), " 7\n");
  }
  bytes += TarEnd();
  const std::string plain = folder.Write("a.tar", bytes);
  const std::string zipped = folder.Write("a.tgz", codec::Gzipped(bytes));
  for (const std::string& path : {plain, zipped}) {
    const auto rows = ReadPlain(ReadTar(path, "\"cls\""));
    ASSERT_THAT(rows, IsOk());
    ASSERT_THAT(rows->rows, SizeIs(3));
    EXPECT_THAT(rows->rows[2], ElementsAre(Pair("__key__", "c"), Pair("cls", "7")));
  }
  const auto keys = ReadPlain(ReadTar(plain, ""));
  ASSERT_THAT(keys, IsOk());
  EXPECT_THAT(keys->rows, SizeIs(3));
}

TEST(ReadTarTest, ReadsRowsOfManySizesInAnyOrderOfFields) {
  const TemporaryFolder folder;
  std::string bytes;
  std::vector<std::string> images;
  for (int i = 0; i < 60; ++i) {
    images.push_back(storage::Noise(i * 7919 % 11 * 40'000, i));
    const std::string image = TarMember(base::StrCat(i, ".jpg"), images.back());
    const std::string label = TarMember(base::StrCat(i, ".cls"), base::StrCat(-i));
    bytes += i % 2 == 0 ? image + label : label + image;
  }
  bytes += TarEnd();
  const std::string plain = folder.Write("a.tar", bytes);
  const std::string indexed = folder.Write("b.tar", bytes);
  AddIndex(indexed, storage::RowFormat::kTar);
  const std::string zipped = folder.Write("a.tar.zst", codec::Zstandard(bytes));
  for (const std::string& path : {plain, indexed, zipped}) {
    const auto rows = ReadPlain(ReadTar(path, "\"jpg\", \"cls\""));
    ASSERT_THAT(rows, IsOk()) << path;
    ASSERT_THAT(rows->rows, SizeIs(60)) << path;
    for (int i = 0; i < 60; ++i) {
      EXPECT_EQ(rows->rows[i].at("jpg"), images[i]) << path << " " << i;
      EXPECT_EQ(rows->rows[i].at("cls"), base::StrCat(-i));
    }
  }
}

TEST(ReadTarTest, BadRowsAreNamedAndTheOthersStillCome) {
  const TemporaryFolder folder;
  const std::string bytes =
      TarMember("a.cls", "1") + TarMember("a.txt", "one") +  // Good.
      TarMember("b.cls", "x2") + TarMember("b.txt", "two") +
      TarMember("c.txt", "three") +  // No label.
      TarMember("d.cls", "4") + TarMember("d.txt", "\xff") + TarMember("e.cls", "5") +
      TarMember("e.txt", "five") + TarEnd();
  const std::string path = folder.Write("a.tar", bytes);
  const std::string call = ReadTar(path, "\"cls\", \"txt\"");
  EXPECT_THAT(ReadPlain(call),
              StatusIs(kDataLoss, AllOf(HasSubstr("field cls is no whole number"),
                                        HasSubstr("byte 2048"), HasSubstr(path))));
  LeavesOut bad;
  const auto rows = ReadPlain(call, bad);
  ASSERT_THAT(rows, IsOk());
  ASSERT_THAT(rows->rows, SizeIs(2));
  EXPECT_EQ(rows->rows[1].at("__key__"), "e");
  EXPECT_EQ(rows->ids[1].lo, 4U);
  EXPECT_THAT(bad.reasons,
              ElementsAre(HasSubstr("whole number"),
                          HasSubstr("no field cls in row c, in the row at byte 4096"),
                          HasSubstr("UTF-8")));
}

TEST(ReadTarTest, NumbersAreReadStrictly) {
  const TemporaryFolder folder;
  const auto label = [&](const std::string& text) {
    const std::string path = folder.Write("a.tar", TarMember("a.cls", text) + TarEnd());
    const auto values = ReadField(ReadTar(path, "\"cls\""), "cls");
    return values.ok() ? values->at(0) : std::string("bad");
  };
  EXPECT_EQ(label("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(label("9223372036854775807\n"), "9223372036854775807");
  EXPECT_EQ(label("+5"), "5");
  for (const char* text : {"", " ", "5.0", "0x5", "5 6", "--5", "9223372036854775808",
                           "-9223372036854775809"}) {
    EXPECT_EQ(label(text), "bad") << text;
  }
  EXPECT_EQ(label(std::string(100'000, '1')), "bad");
}

TEST(ReadTarTest, EmptyTarsHaveNoRows) {
  const TemporaryFolder folder;
  for (const std::string& bytes : {std::string(), TarEnd()}) {
    const auto rows = ReadPlain(ReadTar(folder.Write("a.tar", bytes), "\"cls\""));
    ASSERT_THAT(rows, IsOk());
    EXPECT_THAT(rows->rows, IsEmpty());
  }
}

}  // namespace
}  // namespace millrace::ops
