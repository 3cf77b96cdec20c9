#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WriteRowsTest : public testing::Test {
 protected:
  std::string Text(const std::string& more = "") const {
    return base::StrCat("write_rows(%0, path=\"", folder_ / "to", "\"", more, ")");
  }

  static LaneContext Lane(int64_t number,
                          storage::BlobStore& blobs = storage::ProcessFiles()) {
    return {.pool = core::HeapPool(),
            .lane = {7, 8},
            .lane_number = number,
            .blobs = blobs};
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "to")) {
      names.push_back(file.path().filename());
    }
    return names;
  }

  auto Values(const std::string& name) const {
    return ReadField(Call("read", base::StrCat(folder_ / "to", "/", name)), "value");
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(WriteRowsTest, ALaneIsAFileAndARowThatSaysHowManyItHas) {
  SingleOperator writes(Text(", name=\"abc\""), Lane(12));
  ASSERT_THAT(writes.Push(Numbers(0, 2)), IsOk());
  ASSERT_THAT(writes.Push(Numbers(2, 5)), IsOk());
  EXPECT_THAT(Names(), IsEmpty());  // It appears when it is complete.
  ASSERT_THAT(writes.Finish(), IsOk());
  EXPECT_THAT(writes.Values("lane"), ElementsAre(12));
  EXPECT_THAT(writes.Values("rows"), ElementsAre(5));
  EXPECT_EQ(writes.out().blocks[0].IdAt(0), (core::RowId{7, 8}));
  EXPECT_THAT(Names(), ElementsAre("rows-000012-abc.frames"));
  EXPECT_THAT(Values("rows-000012-abc.frames"),
              IsOkAndHolds(ElementsAre("0", "1", "2", "3", "4")));
}

TEST_F(WriteRowsTest, ALaneWithoutRowsIsAFileToo) {
  SingleOperator writes(Text(), Lane(0));
  ASSERT_THAT(writes.Finish(), IsOk());
  EXPECT_THAT(writes.Values("rows"), ElementsAre(0));
  EXPECT_THAT(Values("rows-000000.frames"), IsOkAndHolds(IsEmpty()));
}

// Others may read it by now.
TEST_F(WriteRowsTest, TheFileThatWasThereFirstStays) {
  for (const int64_t rows : {3, 5}) {
    SingleOperator writes(Text(), Lane(0));
    ASSERT_THAT(writes.Push(Numbers(0, rows)), IsOk());
    ASSERT_THAT(writes.Finish(), IsOk());
  }
  EXPECT_THAT(Values("rows-000000.frames"), IsOkAndHolds(ElementsAre("0", "1", "2")));
  EXPECT_THAT(Names(), ElementsAre("rows-000000.frames"));
}

TEST_F(WriteRowsTest, WhatIsNotEndedLeavesNothing) {
  {
    SingleOperator writes(Text(), Lane(0));
    ASSERT_THAT(writes.Push(Numbers(0, 5000)), IsOk());
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(WriteRowsTest, WhatMayNotBeWrittenIsToldWithTheFirstRows) {
  storage::FailingStore store(storage::ProcessFiles());
  store.FailAt(0);
  SingleOperator writes(Text(), Lane(0, store));
  EXPECT_THAT(writes.Push(Numbers(0, 1)), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(WriteRowsTest, WhatTheFormatDoesNotHoldIsFoundBeforeItRuns) {
  EXPECT_THAT(ErrorOf(Text(", format=\"tar\"")), HasSubstr("tar files cannot hold"));
  EXPECT_THAT(ErrorOf(Text(", format=\"paper\"")),
              HasSubstr("no format is called paper: there are"));
  EXPECT_THAT(ErrorOf(Text(", name=\"a/b\"")), HasSubstr("slash"));
}

// The number of a row among all is known to nobody who runs a lane.
TEST_F(WriteRowsTest, RowsOfTarFilesNeedKeysOfTheirOwn) {
  const auto error = [&](const std::string& key) {
    return ErrorOf(base::StrCat("map(%0, function={", key, "cls: .value})\n%2 = ",
                                "write_rows(%1, path=\"x\", format=\"tar\")"));
  };
  EXPECT_THAT(error(""), HasSubstr("__key__"));
  EXPECT_EQ(error("__key__: to_text(.value), "), "");
}

TEST_F(WriteRowsTest, WhereItWritesToIsNoPartOfWhatItIs) {
  const SingleOperator here(Text(), Lane(0));
  const SingleOperator there("write_rows(%0, path=\"else\", name=\"b\")", Lane(0));
  EXPECT_EQ(here.node().fingerprint(), there.node().fingerprint());
}

}  // namespace
}  // namespace millrace::ops
