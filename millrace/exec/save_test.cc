#include "millrace/exec/save.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class SaveTest : public testing::Test {
 protected:
  absl::StatusOr<Saved> TrySave(const std::string& text, SaveOptions options) {
    return Save(engine_, AsWritten(text), ops::DefaultLibrary(), options);
  }

  std::string Folder() const { return folder_ / "saved"; }

  // All rows that the files hold.
  core::Block Loaded() const {
    return Joined(MustRun(base::StrCat("%0 = load(path=\"", Folder(), "\")")));
  }

  // What is loaded has the fields that a pipeline gives; identities are its own.
  void ExpectLoads(const std::string& text) const {
    const core::Block loaded = Loaded();
    const core::Block plain = Joined(MustRun(text));
    for (size_t i = 0; i < plain.names().size(); ++i) {
      const core::Column* const column = loaded.Find(plain.names()[i]);
      ASSERT_NE(column, nullptr) << plain.names()[i];
      EXPECT_TRUE(core::SameRows(*column, plain.columns()[i])) << plain.names()[i];
    }
  }

  // Rows of many types: dense, ragged, texts, tensors of differing shape.
  static std::string Mixed() {
    return "%0 = range(stop=5000)\n"
           "%1 = map(%0, function={n: .value, f: cast(.value, dtype=\"bfloat16\"), "
           "t: to_text(.value), pair: stack(.value, .value + 1), "
           "list: range(.value % 5), even: .value % 2 == 0})\n";
  }

  const storage::TemporaryFolder folder_;
  Engine engine_{{.threads = 2}};
};

TEST_F(SaveTest, WhatWasSavedIsLoaded) {
  const absl::StatusOr<Saved> saved =
      TrySave(Mixed(), {.folder = Folder(), .file_bytes = 100'000});
  ASSERT_THAT(saved, IsOk());
  EXPECT_EQ(saved->rows, 5000);
  EXPECT_GT(saved->paths.size(), 2);
  ExpectLoads(Mixed());
}

TEST_F(SaveTest, ItTellsHowFarItIsAndStopsWhereAsked) {
  std::vector<int64_t> told;
  const auto stop_at = [&](int64_t most) {
    return [&told, most](int64_t rows) {
      told.push_back(rows);
      return rows >= most;
    };
  };
  const std::string text = "%0 = range(stop=100000)\n";
  EXPECT_THAT(TrySave(text, {.folder = Folder(), .interrupt = stop_at(50'000)}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("interrupted")));
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_GE(told.back(), 50'000);
  EXPECT_LT(told.back(), 100'000);
  EXPECT_THAT(TrySave(text, {.folder = Folder(), .interrupt = stop_at(200'000)}),
              IsOk());
  EXPECT_EQ(told.back(), 100'000);
}

TEST_F(SaveTest, BatchesAreRowsToo) {
  const std::string text = base::StrCat(Mixed(), "%2 = ragged_batch(%1, size=32)\n");
  ASSERT_THAT(TrySave(text, {.folder = Folder()}), IsOk());
  ExpectLoads(text);
}

TEST_F(SaveTest, NoRowsAreSavedAsWell) {
  const std::string text = base::StrCat(Mixed(), "%2 = take(%1, count=0)\n");
  ASSERT_THAT(TrySave(text, {.folder = Folder()}), IsOk());
  EXPECT_EQ(Loaded().rows(), 0);
}

TEST_F(SaveTest, WhatIsThereIsReplacedOnlyWhenAskedFor) {
  ASSERT_THAT(TrySave(Mixed(), {.folder = Folder(), .file_bytes = 50'000}), IsOk());
  const std::string small = "%0 = range(stop=3)\n";
  EXPECT_THAT(TrySave(small, {.folder = Folder()}),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr(Folder()), HasSubstr("replaced"))));
  ASSERT_THAT(TrySave(small, {.folder = Folder(), .replace = true}), IsOk());
  ExpectLoads(small);
  const std::filesystem::directory_iterator files(Folder());
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);  // One of rows, and the list.
}

TEST_F(SaveTest, TarFilesAreReadByWebDatasetsRules) {
  const std::string text =
      "%0 = range(stop=100)\n"
      "%1 = map(%0, function={jpg: cast(to_text(.value), dtype=\"bytes\"), "
      "cls: .value, txt: to_text(.value), __key__: text_join(\"k\", to_text(.value))})";
  ASSERT_THAT(TrySave(text, {.folder = Folder(), .format = "tar"}), IsOk());
  EXPECT_EQ(Loaded().rows(), 100);
  ExpectLoads(text);
}

TEST_F(SaveTest, RowsThatDoNotFitAreRefusedBeforeAnythingIsDone) {
  EXPECT_THAT(TrySave(Mixed(), {.folder = Folder(), .format = "tar"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("{n: int64}"), HasSubstr("another format"))));
  EXPECT_THAT(TrySave(Mixed(), {.folder = Folder(), .format = "xml"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("frames, tar")));
  EXPECT_FALSE(std::filesystem::exists(Folder()));
}

TEST_F(SaveTest, AnErrorOfThePipelineLeavesNothingThatCanBeLoaded) {
  const std::string text =
      "%0 = range(stop=5000)\n%1 = map(%0, function={n: 100 // (.value - 4000)})\n";
  EXPECT_THAT(TrySave(text, {.folder = Folder(), .file_bytes = 1000}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("map (%1)")));
  EXPECT_THAT(ir::Parse(base::StrCat("%0 = load(path=\"", Folder(), "\")"), {},
                        ops::DefaultLibrary().catalog()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("saved.json")));
}

TEST_F(SaveTest, EveryFaultOfTheDiskIsAnErrorAndNothingIsTakenForComplete) {
  storage::FailingStore store(storage::ProcessFiles());
  const SaveOptions options = {
      .folder = Folder(), .file_bytes = 150'000, .replace = true, .store = store};
  store.FailAt(-1);
  for (int64_t call = 0;; ++call) {
    store.FailAt(call);
    const absl::StatusOr<Saved> saved = TrySave(Mixed(), options);
    if (saved.ok()) break;
    EXPECT_THAT(saved, StatusIs(absl::StatusCode::kUnavailable));
    ASSERT_LT(call, 1000);
  }
  ExpectLoads(Mixed());
}

}  // namespace
}  // namespace millrace::exec
