
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kResourceExhausted;
using absl::StatusCode::kUnavailable;
using base::IsOk;
using base::StatusIs;
using testing::SizeIs;

class FileSourceTest : public testing::Test {
 protected:
  FileSourceTest() {
    for (size_t i = 0; i < 40; ++i) {
      folder_.Write(base::StrCat(100 + i), storage::Noise(i * 9973 % 150'000, i));
    }
  }

  std::unique_ptr<Source> Make(core::Pool& pool = core::HeapPool()) {
    return *MakeFileSource(Call("read_files", folder_ / "*"),
                           {.pool = pool, .blobs = store_});
  }

  const storage::TemporaryFolder folder_;
  storage::FailingStore store_{storage::ProcessFiles()};
};

TEST_F(FileSourceTest, ReadsFilesOfAllSizesInBlocksThatAreNotHuge) {
  const auto source = Make();
  const lanes::Manifest manifest = *source->List();
  const std::vector<core::Block> blocks = *ReadAll(*source, WholeSplit(manifest, 0));
  EXPECT_GT(blocks.size(), 1U);
  for (const core::Block& block : blocks) {
    EXPECT_LE(block.content_bytes(), kBlockBytes + 160'000);
  }
  const PlainRows rows = ToPlain(blocks);
  ASSERT_THAT(rows.rows, SizeIs(40));
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(rows.rows[i].at("bytes"), storage::Noise(i * 9973 % 150'000, i));
    EXPECT_EQ(rows.ids[i].lo, i);
  }
}

TEST_F(FileSourceTest, AnyCallThatFailsIsAnErrorAndNeverFewerRows) {
  const auto read = [&]() -> absl::StatusOr<size_t> {
    const auto source = Make();
    const lanes::Manifest manifest = TRY(source->List());
    return ToPlain(TRY(ReadAll(*source, WholeSplit(manifest, 0)))).rows.size();
  };
  store_.FailAt(1 << 20);
  ASSERT_THAT(read(), base::IsOkAndHolds(40));
  const int64_t calls = store_.calls();
  for (int64_t call = 0; call < calls; ++call) {
    store_.FailAt(call);
    EXPECT_THAT(read(), StatusIs(kUnavailable)) << call;
  }
}

TEST_F(FileSourceTest, AFailedFetchCanBeTriedAgain) {
  const auto source = Make();
  ASSERT_THAT(source->List(), IsOk());
  const auto reader = *source->Open({0, 0, 40});
  std::vector<core::Block> blocks;
  for (int64_t call = 0;; ++call) {
    store_.FailAt(call % 7);
    const absl::Status failed = reader->Fetch();
    store_.FailAt(-1);
    const absl::Status again = failed.ok() ? failed : reader->Fetch();
    ASSERT_THAT(again, IsOk());
    const auto block = reader->Next(NoBadRows());
    ASSERT_THAT(block, IsOk());
    if (!block->has_value()) break;
    blocks.push_back(**block);
  }
  const PlainRows rows = ToPlain(blocks);
  ASSERT_THAT(rows.rows, SizeIs(40));
  EXPECT_EQ(rows.ids[39].lo, 39U);
}

TEST_F(FileSourceTest, AFullBudgetIsSaidToBe) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 200 << 10});
  const auto source = Make(pool);
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_THAT(ReadAll(*source, {0, 0, 40}), StatusIs(kResourceExhausted));
}

TEST_F(FileSourceTest, NoRowsAreReadOfAnEmptyRange) {
  const auto source = Make();
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_THAT(*ReadAll(*source, {0, 7, 7}), SizeIs(0));
}

TEST_F(FileSourceTest, ARowIsKnownByItsFile) {
  const auto source = Make();
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_EQ(source->NameOfRow(0, 17), folder_ / "117");
}

}  // namespace
}  // namespace millrace::ops
