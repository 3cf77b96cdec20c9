// What was saved, as a source; passes over it are exec/save_test.cc's.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/saved_set.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/frames_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LoadTest : public testing::Test {
 protected:
  // Writes a file of so many rows: first, first + 1, ... of a field `x`.
  SavedFile WriteRows(const std::string& name, int64_t rows, int64_t first = 0) const {
    const std::unique_ptr<RowsFile> file =
        (*DefaultLibrary().FindFormat("frames"))
            ->begin(storage::ProcessFiles().Create(folder_ / name).value(),
                    {.spec = core::Spec({{"x", core::DType::kInt64, {}}}),
                     .pool = core::HeapPool()})
            .value();
    CHECK(file->Append(storage::NumbersBlock(rows, first)).ok());
    CHECK(file->Publish().ok());
    return {name, rows};
  }

  void WriteList(std::vector<SavedFile> files,
                 const std::string& fields = "{x: int64}") const {
    const SavedSet saved = {
        .format = "frames", .fields = fields, .files = std::move(files)};
    CHECK(WriteSavedSet(storage::ProcessFiles(), folder_.path(), saved).ok());
  }

  std::string Text(const std::string& more = "") const {
    return base::StrCat("load(path=\"", folder_.path(), "\"", more, ")");
  }

  absl::StatusOr<ir::Pipeline> Parsed(const std::string& more = "") const {
    return ir::Parse(base::StrCat("%0 = ", Text(more)), {}, DefaultLibrary().catalog());
  }

  std::unique_ptr<Source> Made() const {
    return MakeFileSource(Text(), {.pool = core::HeapPool()}).value();
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(LoadTest, GivesTheRowsOfTheListedFilesAndOfNoOthers) {
  const SavedFile first = WriteRows("rows-000000.frames", 2);
  const SavedFile second = WriteRows("rows-000001.frames", 3, 2);
  WriteRows("rows-000002.frames", 4, 100);  // Of a save that did not end.
  WriteList({first, second});
  EXPECT_THAT(ReadField(Text(), "x"),
              IsOkAndHolds(ElementsAre("0", "1", "2", "3", "4")));
  EXPECT_EQ(Parsed()->spec().ToString(), "{x: int64}");
  EXPECT_EQ(Parsed()->cardinality(), ir::Cardinality::Unknown());
}

TEST_F(LoadTest, FilesMayBeListedInAnyOrder) {
  const SavedFile b = WriteRows("b.frames", 3, 2);
  const SavedFile a = WriteRows("a.frames", 2);
  WriteList({b, a});
  EXPECT_THAT(ReadField(Text(), "x"),
              IsOkAndHolds(ElementsAre("0", "1", "2", "3", "4")));
}

TEST_F(LoadTest, RowsAreCheckedHoweverTheFolderIsWritten) {
  WriteRows("a.frames", 2);
  WriteList({{"a.frames", 3}});
  for (const std::string& path : {folder_ / "", folder_ / ".", folder_ / "x/.."}) {
    std::filesystem::create_directories(folder_ / "x");
    EXPECT_THAT(ReadField(base::StrCat("load(path=\"", path, "\")"), "x"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("3 were saved")))
        << path;
  }
}

TEST_F(LoadTest, NamesAreNoPatterns) {
  const SavedFile odd = WriteRows("[a]*{b,c}.frames", 2);
  WriteRows("a*b.frames", 5);
  WriteList({odd});
  EXPECT_THAT(ReadField(Text(), "x"), IsOkAndHolds(ElementsAre("0", "1")));
}

TEST_F(LoadTest, AFileWithoutRowsHasNone) {
  WriteList({WriteRows("rows-000000.frames", 0)});
  EXPECT_THAT(ReadField(Text(), "x"), IsOkAndHolds(IsEmpty()));
}

TEST_F(LoadTest, AListedFileThatIsMissingIsNamed) {
  const SavedFile there = WriteRows("rows-000000.frames", 2);
  WriteList({there, {"rows-000001.frames", 3}});
  EXPECT_THAT(ReadField(Text(), "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("rows-000001.frames")));
}

TEST_F(LoadTest, AFileOfOtherRowsThanWereSavedIsNamed) {
  SavedFile shorter = WriteRows("rows-000001.frames", 3);
  shorter.rows = 4;
  WriteList({WriteRows("rows-000000.frames", 2), shorter});
  EXPECT_THAT(ReadField(Text(), "x"),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("has 3 rows, but 4 were saved"),
                             HasSubstr("rows-000001.frames"), HasSubstr("save it"))));
}

TEST_F(LoadTest, NothingSavedIsSaidWhereThePipelineIsMade) {
  EXPECT_THAT(Parsed(), StatusIs(absl::StatusCode::kNotFound,
                                 AllOf(HasSubstr("load"), HasSubstr(folder_.path()))));
  EXPECT_THAT(ir::Parse("%0 = load()", {}, DefaultLibrary().catalog()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("path")));
}

TEST_F(LoadTest, ADamagedListIsNamed) {
  folder_.Write("saved.json", "{\"millrace\": 1");
  EXPECT_THAT(Parsed(), StatusIs(absl::StatusCode::kDataLoss,
                                 AllOf(HasSubstr("load"), HasSubstr("saved.json"))));
}

TEST_F(LoadTest, FieldsThatChangedSinceAreNamedWithBoth) {
  WriteList({WriteRows("rows-000000.frames", 2)});
  const std::unique_ptr<Source> source = Made();
  WriteList({{"rows-000000.frames", 2}}, "{y: string}");
  EXPECT_THAT(source->List(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(folder_.path()), HasSubstr("{x: int64}"),
                             HasSubstr("{y: string}"), HasSubstr("anew"))));
}

TEST_F(LoadTest, ASetThatWentAwaySinceIsNamed) {
  WriteList({WriteRows("rows-000000.frames", 2)});
  const std::unique_ptr<Source> source = Made();
  std::filesystem::remove(SavedSetPath(folder_.path()));
  EXPECT_THAT(source->List(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_.path())));
}

TEST_F(LoadTest, RowsSavedAnewOfTheSameFieldsAreRead) {
  WriteList({WriteRows("rows-000000.frames", 2)});
  const std::unique_ptr<Source> source = Made();
  WriteList({WriteRows("rows-000000.frames", 5)});
  const absl::StatusOr<lanes::Manifest> manifest = source->List();
  ASSERT_THAT(manifest, base::IsOk());
  EXPECT_EQ(manifest->splits.at(0).rows, 5);
}

TEST_F(LoadTest, AnEndingThatNobodyReadsIsNamed) {
  WriteRows("rows-000000.xyz", 2);
  WriteList({{"rows-000000.xyz", 2}});
  EXPECT_THAT(ReadField(Text(), "x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("rows-000000.xyz"), HasSubstr("read_frames"))));
}

TEST_F(LoadTest, FilesOfTwoKindsAreRefused) {
  WriteRows("a.frames", 2);
  folder_.Write("b.txt", "one\n");
  WriteList({{"a.frames", 2}, {"b.txt", 1}});
  EXPECT_THAT(ReadField(Text(), "x"), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("different kinds")));
}

TEST_F(LoadTest, TheTextFormKeepsTheFields) {
  WriteList({WriteRows("rows-000000.frames", 2)});
  const std::string text = ir::Print(*Parsed()).text;
  EXPECT_THAT(text, HasSubstr("fields=\"{x: int64}\""));
  std::filesystem::remove(SavedSetPath(folder_.path()));  // Nobody looks again.
  const absl::StatusOr<ir::Pipeline> again =
      ir::Parse(text, {}, DefaultLibrary().catalog());
  ASSERT_THAT(again, base::IsOk());
  EXPECT_EQ(ir::Print(*again).text, text);
  EXPECT_EQ(again->spec().ToString(), "{x: int64}");
}

TEST_F(LoadTest, FieldsThatAreNoneAreRefused) {
  for (const std::string fields : {"{x int64}", "{x: int63}", "x"}) {
    EXPECT_THAT(Parsed(base::StrCat(", fields=\"", fields, "\"")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("load"), HasSubstr("fields"))))
        << fields;
  }
}

TEST_F(LoadTest, RowsAreNamedAsTheirFilesNameThem) {
  WriteList({WriteRows("rows-000000.frames", 2)});
  const std::unique_ptr<Source> source = Made();
  EXPECT_TRUE(source->waits());
  ASSERT_THAT(source->List(), base::IsOk());
  const std::unique_ptr<Source> plain =
      MakeFileSource(Call("read_frames", folder_ / "*.frames"),
                     {.pool = core::HeapPool()})
          .value();
  ASSERT_THAT(plain->List(), base::IsOk());
  EXPECT_EQ(source->NameOfRow(0, 1), plain->NameOfRow(0, 1));
  EXPECT_EQ(source->waits(), plain->waits());
}

}  // namespace
}  // namespace millrace::ops
