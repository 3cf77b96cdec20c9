#include "millrace/exec/first_turn.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

// Gives blocks of so many rows.
class BlocksReader final : public ops::Reader {
 public:
  explicit BlocksReader(std::vector<int64_t> rows) : rows_(std::move(rows)) {}

  absl::StatusOr<std::optional<core::Block>> Next(ops::BadRows&) override {
    if (next_ == rows_.size()) return std::nullopt;
    return ops::Numbers(0, rows_[next_++]);
  }

 private:
  const std::vector<int64_t> rows_;
  size_t next_ = 0;
};

class Forgets final : public ops::RowsSink {
 public:
  absl::Status Give(core::Block /*block*/) override { return absl::OkStatus(); }

  absl::Status LeaveOut(const ops::BadRow& /*row*/) override {
    return absl::OkStatus();
  }
};

TEST(FirstTurnTest, HasNoRowsOnceAllIsReadAndNothingCame) {
  const auto turn = std::make_shared<FirstTurn>();
  EXPECT_FALSE(turn->HasNoRows());
  turn->Expect(2);
  const auto one =
      FirstTurn::Watched(turn, std::make_unique<BlocksReader>(std::vector<int64_t>{0}));
  const auto two =
      FirstTurn::Watched(turn, std::make_unique<BlocksReader>(std::vector<int64_t>{}));
  std::optional<ops::FoundWork> found = *one->Find();
  EXPECT_FALSE((*one->Find()).has_value());
  EXPECT_FALSE((*two->Find()).has_value());
  EXPECT_FALSE((*two->Find()).has_value());  // It ends only once.
  EXPECT_FALSE(turn->HasNoRows());           // Something is still to be given.
  Forgets sink;
  EXPECT_THAT((*std::move(found))(sink), base::IsOk());
  EXPECT_TRUE(turn->HasNoRows());
}

TEST(FirstTurnTest, OneRowIsEnough) {
  const auto turn = std::make_shared<FirstTurn>();
  turn->Expect(1);
  const auto reader = FirstTurn::Watched(
      turn, std::make_unique<BlocksReader>(std::vector<int64_t>{0, 1, 0}));
  Forgets sink;
  while (std::optional<ops::FoundWork> found = *reader->Find()) {
    EXPECT_THAT((*std::move(found))(sink), base::IsOk());
  }
  EXPECT_FALSE(turn->HasNoRows());
}

// Where nothing ever comes, looking for it has an end.
TEST(FirstTurnTest, ARepeatOfNothingEnds) {
  for (const std::string before :
       {"%1 = filter(%0, predicate={.value > 9999})",
        "%1 = filter(%0, predicate={.value > 9999}) %2 = batch(%1, size=10)"}) {
    const bool batches = before.find("batch") != std::string::npos;
    const std::string text = "%0 = range(stop=1000) " + before +
                             (batches ? " %3 = repeat(%2)" : " %2 = repeat(%1)");
    EXPECT_EQ(MustRun(text).size(), 0U) << text;
    for (const int threads : {1, 4}) {
      Engine engine({.threads = threads});
      const auto iterator = *engine.Open(AsWritten(text), ops::DefaultLibrary(), {});
      EXPECT_FALSE((*iterator->Next()).has_value()) << text;
    }
  }
}

}  // namespace
}  // namespace millrace::exec
