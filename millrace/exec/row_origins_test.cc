#include "millrace/exec/row_origins.h"

#include <cstdint>
#include <memory>
#include <utility>
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
#include "millrace/ops/origins.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

void Note(RowOrigins& origins, const core::RowId& made, std::vector<core::RowId> from) {
  ops::MadeRows rows;
  rows.Add(made, from);
  origins.Note(std::move(rows));
}

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
  Note(origins_, pair, {ops::SourceRowId(0, 0, 1), ops::SourceRowId(3, 0, 4)});
  Note(origins_, both, {pair, ops::SourceRowId(0, 1, 2), pair});
  EXPECT_THAT(BytesOf(pair), ElementsAre(10, 40));
  EXPECT_THAT(BytesOf(both), ElementsAre(10, 40, 20, 10, 40));
  Note(origins_, pair, {ops::SourceRowId(0, 0, 1), ops::SourceRowId(3, 0, 4)});
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
  EXPECT_THAT(origins_.NamesOf(ops::SourceRowId(3, 1, 7)), ElementsAre("row 7 of b"));
  EXPECT_THAT(origins_.NamesOf(ops::SourceRowId(2, 1, 7)), IsEmpty());
  EXPECT_THAT(origins_.NamesOf(ops::SourceRowId(3, 2, 7)), IsEmpty());
  const core::RowId pair = {11, 1};
  Note(origins_, pair, {ops::SourceRowId(0, 0, 1), ops::SourceRowId(3, 1, 4)});
  EXPECT_THAT(origins_.NamesOf(pair), ElementsAre("row 1 of a", "row 4 of b"));
}

TEST_F(RowOriginsTest, WhatWasNotedLongAgoIsForgotten) {
  RowOrigins recent(10);
  lanes::Manifest manifest;
  manifest.splits.resize(1);
  manifest.splits[0].name = "a";
  recent.AddSource(0, std::make_shared<Tens>(), manifest);
  for (uint64_t block = 0; block < 5; ++block) {
    ops::MadeRows rows;
    for (uint64_t row = 0; row < 4; ++row) {
      rows.Add({11, 4 * block + row}, {ops::SourceRowId(0, 0, 4 * block + row)});
    }
    recent.Note(std::move(rows));
  }
  EXPECT_THAT(recent.NamesOf({11, 11}), IsEmpty());
  EXPECT_THAT(recent.NamesOf({11, 12}), ElementsAre("row 12 of a"));
  EXPECT_THAT(recent.NamesOf({11, 19}), ElementsAre("row 19 of a"));
}

}  // namespace
}  // namespace millrace::exec
