#include "millrace/ops/source/awaited_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/saved_set.h"
#include "millrace/ops/source.h"
#include "millrace/storage/frames_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

constexpr absl::StatusCode kEnds = absl::StatusCode::kFailedPrecondition;

class AwaitedRowsTest : public testing::Test {
 protected:
  // A save of three lanes goes on.
  void Beat(const std::string& failed = "") {
    const UnfinishedSet saving = {.format = "frames",
                                  .fields = "{x: int64}",
                                  .name = "1f",
                                  .ending = ".frames",
                                  .lanes = 3,
                                  .beats = ++beats_,
                                  .failed = failed};
    CHECK(WriteUnfinishedSet(storage::ProcessFiles(), folder_.path(), saving).ok());
  }

  std::string Name(int64_t lane) const { return SavedFileName(lane, "1f", ".frames"); }

  // Numbers of a lane: 10 * lane, ...
  void WriteLane(int64_t lane, int64_t rows) const {
    const std::unique_ptr<RowsFile> file =
        (*DefaultLibrary().FindFormat("frames"))
            ->begin(storage::ProcessFiles().Create(folder_ / Name(lane)).value(),
                    {.spec = core::Spec({{"x", core::DType::kInt64, {}}}),
                     .pool = core::HeapPool()})
            .value();
    CHECK(file->Append(storage::NumbersBlock(rows, 10 * lane)).ok());
    CHECK(file->Publish().ok());
  }

  void Complete() const {
    const SavedSet saved = {.format = "frames",
                            .fields = "{x: int64}",
                            .files = {{Name(0), 2}, {Name(1), 3}, {Name(2), 0}}};
    CHECK(WriteSavedSet(storage::ProcessFiles(), folder_.path(), saved).ok());
    CHECK(storage::ProcessFiles().Remove(UnfinishedSetPath(folder_.path())).ok());
  }

  std::unique_ptr<Source> Made(const std::string& wait = "0.2") const {
    const std::string text =
        base::StrCat("%0 = load(path=\"", folder_.path(), "\", wait=", wait, ")");
    const auto node = ir::Parse(text, {}, DefaultLibrary().catalog()).value();
    return DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
  }

  std::unique_ptr<Source> Listed(const std::string& wait = "0.2") const {
    std::unique_ptr<Source> source = Made(wait);
    CHECK(source->List().ok());
    return source;
  }

  // The next rows; none where they are still waited for.
  static absl::StatusOr<std::optional<core::Block>> Step(Reader& reader) {
    TRY(reader.Fetch());
    return reader.Next(NoBadRows());
  }

  static std::unique_ptr<Reader> Open(const Source& source, int64_t lane,
                                      int64_t begin = 0) {
    return source.Open({lane, begin, lanes::kRowsMax}).value();
  }

  const storage::TemporaryFolder folder_;
  int64_t beats_ = 0;
};

TEST_F(AwaitedRowsTest, EveryLaneIsASplitOfUnknownRows) {
  Beat();
  WriteLane(0, 2);
  const absl::StatusOr<lanes::Manifest> saving = Made()->List();
  ASSERT_THAT(saving, IsOk());
  ASSERT_EQ(saving->splits.size(), 3);
  EXPECT_EQ(saving->splits[1].name, folder_ / Name(1));
  EXPECT_FALSE(saving->counted());
  WriteLane(1, 3);
  WriteLane(2, 0);
  Complete();
  EXPECT_EQ(*Made()->List(), *saving);  // So states go on, complete or not.
}

TEST_F(AwaitedRowsTest, RowsComeOnceTheirFileIsThere) {
  Beat();
  const std::unique_ptr<Source> source = Listed();
  const std::unique_ptr<Reader> reader = Open(*source, 1);
  for (int i = 0; i < 3; ++i) {
    const auto nothing = Step(*reader);
    ASSERT_THAT(nothing, IsOk());
    EXPECT_EQ((*nothing)->rows(), 0);
  }
  WriteLane(1, 3);
  const auto rows = Step(*reader);
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ((*rows)->rows(), 3);
  EXPECT_THAT((*rows)->Find("x")->As<int64_t>(), testing::ElementsAre(10, 11, 12));
  EXPECT_EQ(*SourceRowOf((*rows)->IdAt(2), 0), (SourceRow{.split = 1, .row = 2}));
  EXPECT_EQ(*Step(*reader), std::nullopt);
}

TEST_F(AwaitedRowsTest, ReadingMayBeginAnywhere) {
  Beat();
  WriteLane(0, 5);
  const std::unique_ptr<Source> source = Listed();
  const auto rows = Step(*Open(*source, 0, 3));
  ASSERT_THAT(rows, IsOk());
  EXPECT_THAT((*rows)->Find("x")->As<int64_t>(), testing::ElementsAre(3, 4));
  EXPECT_EQ(*SourceRowOf((*rows)->IdAt(0), 0), (SourceRow{.split = 0, .row = 3}));
  EXPECT_EQ(*Step(*Open(*source, 0, 7)), std::nullopt);
}

TEST_F(AwaitedRowsTest, SignsOfLifeKeepTheWaitUpAndTheirAbsenceEndsIt) {
  Beat();
  const std::unique_ptr<Source> source = Listed();
  const std::unique_ptr<Reader> reader = Open(*source, 0);
  for (int i = 0; i < 12; ++i) {
    ASSERT_THAT(Step(*reader), IsOk());
    Beat();
  }
  absl::Status status;
  int steps = 0;
  for (; status.ok(); ++steps) status = Step(*reader).status();
  EXPECT_GE(steps, 10);
  EXPECT_LE(steps, 14);
  EXPECT_THAT(status, StatusIs(kEnds, AllOf(HasSubstr("nothing was seen for 200ms"),
                                            HasSubstr(folder_ / Name(0)))));
}

TEST_F(AwaitedRowsTest, ASaveThatFailsSaysWhy) {
  Beat("the disk is full");
  WriteLane(0, 2);
  const std::unique_ptr<Source> source = Listed("1000.0");
  EXPECT_THAT(Step(*Open(*source, 0)), IsOk());
  EXPECT_THAT(
      Step(*Open(*source, 1)),
      StatusIs(kEnds, AllOf(HasSubstr("the disk is full"), HasSubstr("save again"))));
}

TEST_F(AwaitedRowsTest, ASaveThatVanishesEndsTheWait) {
  Beat();
  const std::unique_ptr<Source> source = Listed("1000.0");
  CHECK(storage::ProcessFiles().Remove(UnfinishedSetPath(folder_.path())).ok());
  EXPECT_THAT(Step(*Open(*source, 1)),
              StatusIs(kEnds, HasSubstr("nobody saves there any more")));
}

TEST_F(AwaitedRowsTest, NothingIsWaitedForUnlessAskedFor) {
  const auto parsed = [&](const std::string& more) {
    return ir::Parse(base::StrCat("%0 = load(path=\"", folder_.path(), "\"", more, ")"),
                     {}, DefaultLibrary().catalog())
        .status();
  };
  EXPECT_THAT(parsed(", wait=1.0"), StatusIs(absl::StatusCode::kNotFound));
  Beat();
  EXPECT_THAT(parsed(""), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(parsed(", wait=1.0"), IsOk());
  EXPECT_THAT(parsed(", wait=-1.0").message(), HasSubstr("argument wait"));
}

}  // namespace
}  // namespace millrace::ops
