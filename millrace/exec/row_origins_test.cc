#include "millrace/exec/row_origins.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

// Has rows at every tenth byte, and notes how often it is asked.
class Tens final : public ops::Source {
 public:
  absl::StatusOr<lanes::Manifest> List() override { return lanes::Manifest(); }

  absl::StatusOr<std::vector<ops::RowPlace>> PlacesOf(
      int64_t split, absl::Span<const int64_t> rows) const override {
    ++asked;
    std::vector<ops::RowPlace> places;
    for (const int64_t row : rows) {
      places.push_back({.file = split == 0 ? "a" : "b", .row = row, .byte = 10 * row});
    }
    return places;
  }

  absl::StatusOr<std::unique_ptr<ops::Reader>> Open(
      const lanes::RowRange& /*rows*/) const override {
    return absl::UnimplementedError("only its places are asked for");
  }

  mutable int asked = 0;
};

class RowOriginsTest : public testing::Test {
 protected:
  RowOriginsTest() {
    lanes::Manifest manifest;
    manifest.splits.resize(2);
    manifest.splits[0].name = "a";
    manifest.splits[1].name = "b";
    origins_.AddSource(0, source_, manifest);
    origins_.AddSource(3, other_, manifest);
  }

  // The bytes where the rows stand that a row was made of.
  std::vector<int64_t> BytesOf(const core::RowId& id) const {
    std::vector<int64_t> bytes;
    const auto places = origins_.PlacesOf({id});
    for (const ops::RowPlace& place : places->front()) bytes.push_back(*place.byte);
    return bytes;
  }

  const std::shared_ptr<Tens> source_ = std::make_shared<Tens>();
  const std::shared_ptr<Tens> other_ = std::make_shared<Tens>();
  RowOrigins origins_;
};

TEST_F(RowOriginsTest, FindsRowsOfEachSourceInTheOrderGiven) {
  const auto places =
      *origins_.PlacesOf({ops::SourceRowId(3, 1, 7), ops::SourceRowId(0, 0, 2),
                          ops::SourceRowId(3, 1, 5)});
  EXPECT_THAT(places, ElementsAre(ElementsAre(ops::RowPlace{"b", 7, 70}),
                                  ElementsAre(ops::RowPlace{"a", 2, 20}),
                                  ElementsAre(ops::RowPlace{"b", 5, 50})));
  EXPECT_EQ(source_->asked, 1);
  EXPECT_EQ(other_->asked, 1);  // For both rows of the split.
}

TEST_F(RowOriginsTest, FollowsWhatRowsWereMadeOf) {
  const core::RowId pair = {11, 1};
  const core::RowId both = {11, 2};
  origins_.Note(pair, {ops::SourceRowId(0, 0, 1), ops::SourceRowId(3, 0, 4)});
  origins_.Note(both, {pair, ops::SourceRowId(0, 1, 2), pair});
  EXPECT_THAT(BytesOf(pair), ElementsAre(10, 40));
  EXPECT_THAT(BytesOf(both), ElementsAre(10, 40, 20, 10, 40));
  origins_.Note(pair, {ops::SourceRowId(0, 0, 1), ops::SourceRowId(3, 0, 4)});
  EXPECT_THAT(BytesOf(pair), ElementsAre(10, 40));
}

TEST_F(RowOriginsTest, RowsThatNobodyNotedAreAnError) {
  const auto unknown = StatusIs(absl::StatusCode::kUnimplemented,
                                HasSubstr("does not say of which others"));
  EXPECT_THAT(origins_.PlacesOf({ops::SourceRowId(1, 0, 0)}), unknown);
  EXPECT_THAT(origins_.PlacesOf({ops::SourceRowId(0, 2, 0)}),
              unknown);  // No such split.
  EXPECT_THAT(origins_.PlacesOf({{0x1234567812345678, 5}}), unknown);
}

TEST_F(RowOriginsTest, NamesRowsForPeople) {
  EXPECT_EQ(origins_.NameOf(ops::SourceRowId(3, 1, 7)), "row 7 of b");
  EXPECT_EQ(origins_.NameOf(ops::SourceRowId(2, 1, 7)), "");
  EXPECT_EQ(origins_.NameOf(ops::SourceRowId(3, 2, 7)), "");
}

}  // namespace
}  // namespace millrace::exec
