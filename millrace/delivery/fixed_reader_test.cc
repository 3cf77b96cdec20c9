#include "millrace/delivery/fixed_reader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/delivery/digests_test.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/tracks.h"

namespace millrace::delivery {
namespace {

using absl::StatusCode::kDataLoss;
using base::IsOk;
using base::MakeId;
using base::StatusIs;
using base::ToNumber;
using lanes::DealAll;
using lanes::kRowsMax;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Ready = FixedReader::Ready;

WorkerId Worker(int64_t number) { return MakeId<WorkerId>(number); }

Token TokenOf(int64_t number) { return MakeId<Token>(number); }

// Batches of two rows; one byte is a row.
FixedReaderOptions Options(int64_t consumer = 0, int64_t consumers = 1) {
  FixedReaderOptions options{.consumers = consumers, .consumer = consumer};
  options.batching.rows = 2;
  options.batch_bytes = 2;
  return options;
}

// The same, of lanes whose rows nobody knows.
FixedReaderOptions Unknown(int64_t consumer = 0, int64_t consumers = 1) {
  FixedReaderOptions options = Options(consumer, consumers);
  options.counted = false;
  return options;
}

lanes::Rest UnknownLanes(int64_t lanes, int64_t tracks) {
  return DealAll(std::vector<int64_t>(lanes, kRowsMax), tracks);
}

api::BatchHead Head(int64_t lane, int64_t begin, int64_t end, bool tail = false) {
  return {{0, lane},          begin, end, tail, end - begin, DigestAt(lane, begin),
          DigestAt(lane, end)};
}

std::string RowsOf(int64_t lane, int64_t begin, int64_t end) {
  return base::StrCat(lane, "[", begin, ",", end, ")");
}

// What a reader does, in words.
std::vector<std::string> Actions(FixedReader& reader) {
  std::vector<std::string> words;
  for (const ReaderAction& action : reader.TakeActions()) {
    if (const auto* drop = std::get_if<Drop>(&action)) {
      words.push_back(base::StrCat("drop ", ToNumber(drop->token)));
      continue;
    }
    const auto& send = std::get<SendWants>(action);
    const std::string to = base::StrCat("to ", ToNumber(send.worker), ":");
    for (const api::LaneAddress& at : send.message.forget) {
      words.push_back(base::StrCat(to, " forget ", at.lane));
    }
    for (const api::Want& want : send.message.wants) {
      words.push_back(
          base::StrCat(to, " want ", RowsOf(want.at.lane, want.begin, want.end)));
      if (want.batch == want.begin) continue;
      words.back() += base::StrCat(" of the batch at ", want.batch);
    }
  }
  return words;
}

// A worker that has every row at once, and runs every lane.
class Source {
 public:
  explicit Source(std::vector<int64_t> lane_rows, int64_t batch_rows = 2)
      : lane_rows_(std::move(lane_rows)), batch_rows_(batch_rows) {}

  // Answers all that is asked, until nothing more is.
  void Serve(FixedReader& reader) {
    std::vector<ReaderAction> actions;
    do {
      for (const LaneNeed& need : reader.Needs()) {
        reader.OnPlaced(need.at, Worker(1));
      }
      actions = reader.TakeActions();
      for (const ReaderAction& action : actions) Do(reader, action);
    } while (!actions.empty());
  }

  // Takes what there is, up to so many batches; each as the rows in it.
  std::vector<std::string> Take(FixedReader& reader, int64_t batches = 1000) {
    std::vector<std::string> taken;
    for (Serve(reader); reader.ready() == Ready::kBatch && batches > 0; --batches) {
      taken.push_back(TakeOne(reader));
      Serve(reader);
    }
    return taken;
  }

  bool holds_nothing() const { return held_.empty(); }

 private:
  struct Held {
    int64_t lane = 0;
    int64_t begin = 0;
  };

  void Do(FixedReader& reader, const ReaderAction& action) {
    if (const auto* drop = std::get_if<Drop>(&action)) {
      held_.erase(drop->token);
      return;
    }
    for (const api::Want& want : std::get<SendWants>(action).message.wants) {
      Answer(reader, want);
    }
  }

  void Answer(FixedReader& reader, const api::Want& want) {
    const int64_t lane = want.at.lane;
    const int64_t rows = lane_rows_[lane];
    const int64_t end = std::min(want.end, rows);
    if (want.begin < end) {
      const bool tail = (want.begin / batch_rows_ + 1) * batch_rows_ > rows;
      const Token token = TokenOf(next_token_++);
      held_[token] = {lane, want.begin};
      ASSERT_THAT(reader.OnBatch(Head(lane, want.begin, end, tail), token), IsOk());
    }
    if (want.end > rows) {
      ASSERT_THAT(reader.OnEnd({{0, lane}, rows}), IsOk());
    }
  }

  // "0[0,2)", joined by +; behind it what of these rows is taken, and is valid, where
  // that is not all.
  std::string TakeOne(FixedReader& reader) {
    const TakenBatch batch = reader.Take();
    std::string words;
    int64_t rows = 0;
    for (const BatchPart& part : batch.parts) {
      const Held held = held_.at(part.token);
      const int64_t begin = held.begin + part.skip;
      words += base::StrCat(words.empty() ? "" : "+",
                            RowsOf(held.lane, begin, begin + part.rows));
      rows += part.rows;
      if (part.last_use) held_.erase(part.token);
    }
    if (batch.rows != rows) words += base::StrCat(" up to ", batch.rows);
    if (batch.slice_end - batch.slice_begin != batch.rows) {
      words += base::StrCat(" from ", batch.slice_begin, " to ", batch.slice_end);
    }
    if (batch.valid != batch.slice_end - batch.slice_begin) {
      words += base::StrCat(" valid ", batch.valid);
    }
    return words;
  }

  std::vector<int64_t> lane_rows_;
  int64_t batch_rows_;
  std::map<Token, Held> held_;
  int64_t next_token_ = 100;
};

// All that each of the consumers takes of a pass.
std::vector<std::vector<std::string>> TakeAll(FixedReaderOptions options,
                                              const std::vector<int64_t>& lane_rows,
                                              int64_t tracks) {
  std::vector<std::vector<std::string>> taken;
  const lanes::Rest rest = DealAll(lane_rows, tracks);
  for (options.consumer = 0; options.consumer < options.consumers; ++options.consumer) {
    FixedReader reader(options, rest, rest);
    Source source(lane_rows, options.batching.rows);
    taken.push_back(source.Take(reader));
    EXPECT_EQ(reader.ready(), Ready::kEnd);
    EXPECT_TRUE(source.holds_nothing());
  }
  return taken;
}

// --- Which batches ---

TEST(FixedReaderTest, OneConsumerTakesTheTurnsOfAllTracks) {
  EXPECT_THAT(
      TakeAll(Options(), {4, 4, 2}, 2),
      ElementsAre(ElementsAre("0[0,2)", "1[0,2)", "0[2,4)", "1[2,4)", "2[0,2)")));
}

// What was asked for comes, however large it is.
TEST(FixedReaderTest, FewBatchesAreAskedForUntilTheirSizeWasSeen) {
  FixedReader reader(Options(), DealAll({100}, 1));
  reader.OnPlaced({0, 0}, Worker(1));
  EXPECT_EQ(reader.credit().asked_batches(), 4);
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  EXPECT_EQ(reader.credit().asked_batches(), 49);
}

TEST(FixedReaderTest, ConsumersTakeTurns) {
  EXPECT_THAT(
      TakeAll(Options(0, 2), {4, 4}, 2),
      ElementsAre(ElementsAre("0[0,2)", "0[2,4)"), ElementsAre("1[0,2)", "1[2,4)")));
}

TEST(FixedReaderTest, TailsAreJoined) {
  EXPECT_THAT(TakeAll(Options(), {3, 3, 1}, 1),
              ElementsAre(ElementsAre("0[0,2)", "1[0,2)", "0[2,3)+1[2,3)", "2[0,1)")));
}

TEST(FixedReaderTest, AShortLastBatchIsDroppedWhereThePipelineSaysSo) {
  FixedReaderOptions options = Options();
  options.batching.drop_remainder = true;
  EXPECT_THAT(TakeAll(options, {2, 1}, 1), ElementsAre(ElementsAre("0[0,2)")));
}

TEST(FixedReaderTest, APassWithoutRowsEndsAtOnce) {
  EXPECT_THAT(TakeAll(Options(), {}, 1), ElementsAre(IsEmpty()));
  EXPECT_THAT(TakeAll(Options(0, 2), {0, 0}, 1), ElementsAre(IsEmpty(), IsEmpty()));
}

// --- How consumers end together ---

TEST(FixedReaderTest, DropLeavesTheLastRoundOut) {
  EXPECT_THAT(TakeAll(Options(0, 2), {6}, 1),
              ElementsAre(ElementsAre("0[0,2)"), ElementsAre("0[2,4)")));
}

TEST(FixedReaderTest, KeepGivesTheLastRoundToThoseItReaches) {
  FixedReaderOptions options = Options(0, 2);
  options.remainder = Remainder::kKeep;
  EXPECT_THAT(TakeAll(options, {6}, 1),
              ElementsAre(ElementsAre("0[0,2)", "0[4,6)"), ElementsAre("0[2,4)")));
}

TEST(FixedReaderTest, PadFillsTheLastRoundWithTheFirst) {
  FixedReaderOptions options = Options(0, 3);
  options.remainder = Remainder::kPad;
  EXPECT_THAT(TakeAll(options, {8}, 1),
              ElementsAre(ElementsAre("0[0,2)", "0[6,8)"),
                          ElementsAre("0[2,4)", "0[0,2) valid 0"),
                          ElementsAre("0[4,6)", "0[2,4) valid 0")));
}

TEST(FixedReaderTest, PadGoesRoundAPassThatIsTooShort) {
  FixedReaderOptions options = Options(0, 4);
  options.remainder = Remainder::kPad;
  EXPECT_THAT(
      TakeAll(options, {3}, 1),
      ElementsAre(ElementsAre("0[0,2)"), ElementsAre("0[2,3)"),
                  ElementsAre("0[0,2) valid 0"), ElementsAre("0[2,3) valid 0")));
}

// A rest without its beginning is padded with the beginning all the same.
TEST(FixedReaderTest, PadIsTakenFromTheStartOfThePass) {
  FixedReaderOptions options = Options(1, 2);
  options.remainder = Remainder::kPad;
  const lanes::Rest whole = DealAll({6}, 1);
  FixedReader reader(options, lanes::TrackOrder(whole, {.rows = 2}).After(2), whole);
  EXPECT_THAT(Source({6}).Take(reader), ElementsAre("0[0,2) valid 0"));
}

// --- Slices of global batches ---

FixedReaderOptions Global(int64_t consumers, Remainder remainder) {
  FixedReaderOptions options = Options(0, consumers);
  options.global_batch = true;
  options.batching.rows = 4;
  options.remainder = remainder;
  return options;
}

TEST(FixedReaderTest, WhatDropLeavesOutIsCounted) {
  const auto left_out = [](FixedReaderOptions options, int64_t rows) {
    FixedReader reader(options, DealAll({rows}, 1));
    Source({rows}, options.batching.rows).Take(reader);
    return reader.left_out_rows();
  };
  EXPECT_EQ(left_out(Options(0, 2), 6), 2) << "of 3 batches, the last";
  EXPECT_EQ(left_out(Options(1, 2), 6), 2) << "the same for every consumer";
  EXPECT_EQ(left_out(Options(0, 3), 9), 3) << "two, of 2 rows and of 1";
  EXPECT_EQ(left_out(Options(0, 2), 8), 0);
  EXPECT_EQ(left_out(Global(2, Remainder::kDrop), 7), 3);
  EXPECT_EQ(left_out(Global(2, Remainder::kKeep), 7), 0);
}

TEST(FixedReaderTest, OfAGlobalBatchEachTakesItsSlice) {
  EXPECT_THAT(
      TakeAll(Global(2, Remainder::kDrop), {8}, 1),
      ElementsAre(ElementsAre("0[0,2)", "0[4,6)"), ElementsAre("0[2,4)", "0[6,8)")));
}

TEST(FixedReaderTest, JoinedTailsAreCutOnceTheyAreJoined) {
  EXPECT_THAT(TakeAll(Global(2, Remainder::kDrop), {1, 3}, 1),
              ElementsAre(ElementsAre("0[0,1)+1[0,3) from 0 to 2"),
                          ElementsAre("0[0,1)+1[0,3) from 2 to 4")));
}

TEST(FixedReaderTest, AShortGlobalBatchIsLeftOut) {
  EXPECT_THAT(TakeAll(Global(2, Remainder::kDrop), {7}, 1),
              ElementsAre(ElementsAre("0[0,2)"), ElementsAre("0[2,4)")));
}

TEST(FixedReaderTest, AShortGlobalBatchIsCut) {
  EXPECT_THAT(
      TakeAll(Global(2, Remainder::kKeep), {7}, 1),
      ElementsAre(ElementsAre("0[0,2)", "0[4,5)"), ElementsAre("0[2,4)", "0[5,7)")));
}

TEST(FixedReaderTest, ASliceOfAShortGlobalBatchMayBeEmpty) {
  EXPECT_THAT(TakeAll(Global(2, Remainder::kKeep), {5}, 1),
              ElementsAre(ElementsAre("0[0,2)", ""), ElementsAre("0[2,4)", "0[4,5)")));
}

TEST(FixedReaderTest, AnEmptySliceIsNotAskedFor) {
  FixedReader reader(Global(2, Remainder::kKeep), lanes::DealAll({1}, 1));
  reader.OnPlaced({0, 0}, MakeId<WorkerId>(1));
  EXPECT_THAT(reader.TakeActions(), IsEmpty());
  EXPECT_EQ(reader.credit().asked_batches(), 0);
}

TEST(FixedReaderTest, AShortGlobalBatchIsFilledWithTheFirst) {
  EXPECT_THAT(TakeAll(Global(2, Remainder::kPad), {7}, 1),
              ElementsAre(ElementsAre("0[0,2)", "0[4,7)+0[0,1) from 0 to 2"),
                          ElementsAre("0[2,4)", "0[4,7)+0[0,1) from 2 to 4 valid 1")));
}

TEST(FixedReaderTest, AShortGlobalBatchThatIsTheOnlyOneIsRepeated) {
  EXPECT_THAT(TakeAll(Global(2, Remainder::kPad), {3}, 1),
              ElementsAre(ElementsAre("0[0,3) up to 4 from 0 to 2"),
                          ElementsAre("0[0,3) up to 4 from 2 to 4 valid 1")));
}

TEST(FixedReaderTest, OneConsumerGetsEverything) {
  EXPECT_THAT(TakeAll(Global(1, Remainder::kDrop), {7}, 1),
              ElementsAre(ElementsAre("0[0,4)", "0[4,7)")));
}

// --- Asking ---

TEST(FixedReaderTest, AsksInTheOrderOfPositions) {
  FixedReaderOptions options = Options();
  options.credit_bytes = 4;
  FixedReader reader(options, DealAll({4, 4}, 2));
  EXPECT_THAT(Actions(reader), IsEmpty()) << "nobody runs anything";
  reader.OnPlaced({0, 0}, Worker(1));
  reader.OnPlaced({0, 1}, Worker(2));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[0,2)", "to 2: want 1[0,2)"));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  EXPECT_THAT(Actions(reader), IsEmpty()) << "what is held takes room";
  reader.Take();
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[2,4)"));
}

TEST(FixedReaderTest, TheNextBatchMayAlwaysBeAsked) {
  FixedReaderOptions options = Options();
  options.credit_bytes = 1;
  FixedReader reader(options, DealAll({4}, 1));
  reader.OnPlaced({0, 0}, Worker(1));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[0,2)"));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  EXPECT_THAT(Actions(reader), IsEmpty());
  reader.Take();
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[2,4)"));
}

// What batches take is learnt from those that come.
TEST(FixedReaderTest, LargerBatchesAreAskedForFewerAtATime) {
  FixedReaderOptions options = Options();
  options.credit_bytes = 8;
  FixedReader reader(options, DealAll({40}, 1));
  reader.OnPlaced({0, 0}, Worker(1));
  EXPECT_EQ(Actions(reader).size(), 4);
  api::BatchHead large = Head(0, 0, 2);
  large.bytes = 4;
  ASSERT_THAT(reader.OnBatch(large, TokenOf(1)), IsOk());
  reader.Take();
  EXPECT_THAT(Actions(reader), IsEmpty())
      << "three of these are on their way: 12 bytes";
}

TEST(FixedReaderTest, ASliceIsAskedForWithTheBatchItIsIn) {
  FixedReaderOptions options = Global(2, Remainder::kDrop);
  options.consumer = 1;
  FixedReader reader(options, DealAll({8}, 1));
  reader.OnPlaced({0, 0}, Worker(1));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[2,4) of the batch at 0",
                                           "to 1: want 0[6,8) of the batch at 4"));
}

// --- Workers come and go ---

TEST(FixedReaderTest, ALaneThatMovedIsAskedForWhereItIsNow) {
  FixedReader reader(Options(), DealAll({4}, 1));
  reader.OnPlaced({0, 0}, Worker(1));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[0,2)", "to 1: want 0[2,4)"));
  reader.OnPlaced({0, 0}, Worker(1));
  EXPECT_THAT(Actions(reader), IsEmpty()) << "that is no news";
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  reader.OnPlaced({0, 0}, Worker(2));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: forget 0", "to 2: want 0[2,4)"));
  reader.OnPlaced({0, 0}, std::nullopt);
  EXPECT_THAT(Actions(reader), ElementsAre("to 2: forget 0"));
}

TEST(FixedReaderTest, WhatALostWorkerHadIsAskedForElsewhere) {
  FixedReader reader(Options(), DealAll({4}, 1));
  reader.OnPlaced({0, 0}, Worker(1));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 1), TokenOf(1)), IsOk());
  reader.TakeActions();
  reader.OnWorkerGone(Worker(2));
  EXPECT_TRUE(reader.Needs()[0].placed);
  reader.OnWorkerGone(Worker(1));
  EXPECT_THAT(Actions(reader), IsEmpty()) << "there is nobody to be told";
  EXPECT_FALSE(reader.Needs()[0].placed);
  reader.OnPlaced({0, 0}, Worker(2));
  EXPECT_THAT(Actions(reader), ElementsAre("to 2: want 0[1,2)", "to 2: want 0[2,4)"))
      << "from the first row that did not come";
}

TEST(FixedReaderTest, AFailedLaneIsAskedForElsewhere) {
  FixedReader reader(Options(), DealAll({2}, 1));
  reader.OnPlaced({0, 0}, Worker(1));
  reader.TakeActions();
  reader.OnFailed(Worker(2), {0, 0});
  reader.OnFailed(Worker(1), {0, 7});
  EXPECT_TRUE(reader.Needs()[0].placed) << "it fails where it is not run";
  reader.OnFailed(Worker(1), {0, 0});
  EXPECT_FALSE(reader.Needs()[0].placed);
  reader.OnPlaced({0, 0}, Worker(2));
  EXPECT_THAT(Actions(reader), ElementsAre("to 2: want 0[0,2)"));
}

// --- What comes ---

TEST(FixedReaderTest, WhatComesTwiceIsDropped) {
  FixedReader reader(Options(), DealAll({4}, 1));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(2)), IsOk());
  EXPECT_THAT(Actions(reader), ElementsAre("drop 2"));
}

TEST(FixedReaderTest, WhatNobodyAskedForIsDropped) {
  FixedReader reader(Options(0, 2), DealAll({8}, 1));
  api::BatchHead other_pass = Head(0, 0, 2);
  other_pass.at.pass = 1;
  for (const api::BatchHead& head :
       {other_pass, Head(7, 0, 2), Head(0, 2, 4), Head(0, 0, 0), Head(0, 0, 3)}) {
    ASSERT_THAT(reader.OnBatch(head, TokenOf(1)), IsOk());
    EXPECT_THAT(Actions(reader), ElementsAre("drop 1"));
  }
  EXPECT_EQ(reader.ready(), Ready::kWait);
}

TEST(FixedReaderTest, ABatchMayComeInPieces) {
  FixedReader reader(Options(), DealAll({2}, 1));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 1), TokenOf(1)), IsOk());
  EXPECT_EQ(reader.ready(), Ready::kWait);
  EXPECT_EQ(reader.waits_for(), (api::LaneAddress{0, 0}));
  ASSERT_THAT(reader.OnBatch(Head(0, 1, 2), TokenOf(2)), IsOk());
  EXPECT_EQ(reader.waits_for(), std::nullopt);
  const TakenBatch batch = reader.Take();
  ASSERT_EQ(batch.parts.size(), 2);
  EXPECT_EQ(batch.parts[1].token, TokenOf(2));
  EXPECT_TRUE(batch.parts[0].last_use && batch.parts[1].last_use);
}

TEST(FixedReaderTest, ALaneThatComesOutDifferentlyIsAnError) {
  FixedReader reader(Options(), DealAll({4}, 1));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  api::BatchHead other = Head(0, 2, 4);
  other.digest_before = DigestAt(9, 2);
  EXPECT_THAT(reader.OnBatch(other, TokenOf(2)),
              StatusIs(kDataLoss,
                       "lane 0 came out differently up to row 2: a function is not "
                       "deterministic, or a file has changed"));
}

TEST(FixedReaderTest, ALaneShorterThanItsFilesPromiseIsAnError) {
  FixedReader reader(Options(), DealAll({4}, 1));
  EXPECT_THAT(
      reader.OnEnd({{0, 0}, 3}),
      StatusIs(kDataLoss,
               "lane 0 ended after 3 rows, before those that its files promise: "
               "a file has changed"));
  EXPECT_THAT(reader.OnEnd({{1, 0}, 3}), IsOk()) << "that is another pass";
}

TEST(FixedReaderTest, ALaneWithOtherRowsThanBeforeIsAnError) {
  FixedReader reader(Unknown(), UnknownLanes(1, 1));
  ASSERT_THAT(reader.OnKnown(0, {4, true}), IsOk());
  EXPECT_THAT(reader.OnKnown(0, {5, false}), StatusIs(kDataLoss));
}

// --- Rows that are not known ---

TEST(FixedReaderTest, WhoReadsAloneLearnsFromWhatComes) {
  const std::vector<int64_t> rows = {3, 0, 5, 1};
  FixedReader reader(Unknown(), UnknownLanes(4, 2));
  const std::vector<std::string> taken = Source(rows).Take(reader);
  EXPECT_EQ(reader.ready(), Ready::kEnd);
  EXPECT_EQ(taken, TakeAll(Options(), rows, 2)[0]);
}

TEST(FixedReaderTest, WhoReadsAloneAsksBeforeItIsKnownWhatThereIs) {
  FixedReaderOptions options = Unknown();
  options.credit_bytes = 4;
  FixedReader reader(options, UnknownLanes(4, 2));
  reader.OnPlaced({0, 0}, Worker(1));
  reader.OnPlaced({0, 1}, Worker(1));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[0,2)", "to 1: want 1[0,2)"));
  ASSERT_THAT(reader.OnEnd({{0, 0}, 0}), IsOk());
  reader.OnPlaced({0, 2}, Worker(1));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 2[0,2)"))
      << "it is the first track's next";
}

// Most of what is asked for behind the end of a short lane would be asked in vain.
TEST(FixedReaderTest, WhoReadsAloneAsksForMoreTheMoreThereIs) {
  FixedReader reader(Unknown(), UnknownLanes(1, 1));
  reader.OnPlaced({0, 0}, Worker(1));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[0,2)", "to 1: want 0[2,4)"));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[4,6)"));
  ASSERT_THAT(reader.OnKnown(0, {6, false}), IsOk());
  const std::vector<ReaderAction> actions = reader.TakeActions();
  ASSERT_THAT(actions, SizeIs(1)) << "in one message";
  EXPECT_THAT(std::get<SendWants>(actions[0]).message.wants, SizeIs(3));
}

TEST(FixedReaderTest, ABatchIsTakenOnceItsWholeRoundIsKnownToExist) {
  FixedReader reader(Unknown(0, 2), UnknownLanes(2, 2));
  ASSERT_THAT(reader.OnKnown(0, {2, false}), IsOk());
  reader.OnPlaced({0, 0}, Worker(1));
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: want 0[0,2)"));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  EXPECT_EQ(reader.ready(), Ready::kWait) << "the other may have none";
  EXPECT_EQ(reader.waits_for(), std::nullopt) << "its own is here";
  ASSERT_THAT(reader.OnKnown(1, {2, false}), IsOk());
  EXPECT_EQ(reader.ready(), Ready::kBatch);
}

TEST(FixedReaderTest, ARoundThatTurnsOutShortIsLeftOut) {
  FixedReader reader(Unknown(0, 2), UnknownLanes(2, 2));
  ASSERT_THAT(reader.OnKnown(0, {2, true}), IsOk());
  reader.OnPlaced({0, 0}, Worker(1));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  reader.TakeActions();
  ASSERT_THAT(reader.OnKnown(1, {0, true}), IsOk());
  EXPECT_EQ(reader.ready(), Ready::kEnd);
  EXPECT_THAT(Actions(reader), ElementsAre("drop 1")) << "what came is not needed";
}

TEST(FixedReaderTest, WhatIsLeftOutIsNoLongerWanted) {
  FixedReader reader(Unknown(0, 2), UnknownLanes(2, 2));
  ASSERT_THAT(reader.OnKnown(0, {2, true}), IsOk());
  reader.OnPlaced({0, 0}, Worker(1));
  reader.TakeActions();
  ASSERT_THAT(reader.OnKnown(1, {0, true}), IsOk());
  EXPECT_THAT(Actions(reader), ElementsAre("to 1: forget 0"));
}

TEST(FixedReaderTest, SeveralLearnFromWhatTheyAreTold) {
  const std::vector<int64_t> rows = {3, 0, 5, 1, 2};
  for (int64_t consumer = 0; consumer < 2; ++consumer) {
    FixedReader reader(Unknown(consumer, 2), UnknownLanes(5, 2));
    for (int64_t lane = 4; lane >= 0; --lane) {
      ASSERT_THAT(reader.OnKnown(lane, {rows[lane], true}), IsOk());
    }
    EXPECT_EQ(Source(rows).Take(reader), TakeAll(Options(0, 2), rows, 2)[consumer]);
  }
}

// --- A pass without end ---

TEST(FixedReaderTest, AnEndlessPassAsksForMoreLanes) {
  FixedReaderOptions options = Options();
  options.endless = true;
  options.credit_bytes = 4;
  FixedReader reader(options, DealAll({2, 2}, 2));
  Source source(std::vector<int64_t>(100, 2));
  std::vector<std::string> taken;
  for (int64_t dealt = 2; dealt < 100;) {
    for (const std::string& batch : source.Take(reader)) taken.push_back(batch);
    ASSERT_EQ(reader.ready(), Ready::kWait) << "there is no end of it";
    ASSERT_TRUE(reader.wants_lanes());
    reader.DealMore({dealt++, 0, 2});
  }
  ASSERT_GE(taken.size(), 90);
  for (int64_t lane = 0; lane < 90; ++lane) EXPECT_EQ(taken[lane], RowsOf(lane, 0, 2));
}

// --- Telling ---

TEST(FixedReaderTest, NeedsTheLanesThatAreNextAndSoonThoseBehind) {
  FixedReaderOptions options = Options();
  options.credit_bytes = 4;
  const std::vector<int64_t> rows = {8, 8, 8, 8, 8};
  FixedReader reader(options, DealAll(rows, 2));
  reader.OnPlaced({0, 1}, Worker(1));
  const auto need = [](int64_t lane, int64_t from, bool now, bool placed) {
    return LaneNeed{{0, lane}, from, now, placed};
  };
  EXPECT_THAT(reader.Needs(),
              ElementsAre(need(0, 0, true, false), need(1, 0, true, true),
                          need(3, 0, false, false), need(2, 0, false, false)))
      << "two positions are asked and one more is decided: track 1 is next";
  Source source(rows);
  source.Take(reader, 2);
  EXPECT_THAT(reader.Needs(),
              ElementsAre(need(0, 4, true, true), need(1, 4, true, true),
                          need(3, 0, false, true), need(2, 0, false, true)))
      << "rows that are here need not be made";
  source.Take(reader);
  EXPECT_THAT(reader.Needs(), IsEmpty()) << "it has all";
}

TEST(FixedReaderTest, WhatFillsTheLastRoundUpIsNeeded) {
  FixedReaderOptions options = Options(1, 2);
  options.remainder = Remainder::kPad;
  const lanes::Rest rest = DealAll({2}, 1);
  FixedReader reader(options, rest, rest);
  EXPECT_THAT(reader.Needs(), ElementsAre(LaneNeed{{0, 0}, 0, true, false}));
}

// Others fill their places with the batches before it, or have none to fill.
TEST(FixedReaderTest, WhatFillsTheLastRoundUpIsNeededFromWhereItIsNotKnown) {
  FixedReaderOptions options = Unknown(3, 4);
  options.remainder = Remainder::kPad;
  const lanes::Rest whole = UnknownLanes(2, 1);
  lanes::Rest rest = whole;
  rest.tracks[0].lanes.erase(rest.tracks[0].lanes.begin());
  FixedReader reader(options, rest, whole);
  ASSERT_THAT(reader.OnKnown(1, {.rows = 1, .ended = true}), IsOk());
  EXPECT_THAT(reader.Needs(), ElementsAre(LaneNeed{{0, 0}, 0, true, false}));
  ASSERT_THAT(reader.OnKnown(0, {.rows = 2}), IsOk());
  EXPECT_THAT(reader.Needs(), ElementsAre(LaneNeed{{0, 0}, 2, true, false}));
}

// Runs of two batches; of an earlier one a batch is carried, and the lane goes on far
// behind it.
TEST(FixedReaderTest, OfALaneThatGoesOnWhatIsCarriedIsNeededOnceItIsDecided) {
  FixedReaderOptions options = Unknown(0, 2);
  options.batching.rows = 1;
  options.batching.runs = lanes::Runs{.group = 2, .sizes = {1, 1}, .consumers = 2};
  lanes::Rest rest = UnknownLanes(1, 1);
  rest.tracks[0].carry = {{0, 2, 3, /*key=*/0, /*batches=*/true},
                          {0, 1, 2, /*key=*/1, /*batches=*/true}};
  rest.tracks[0].lanes[0].begin = 20;
  FixedReader reader(options, rest);
  EXPECT_THAT(reader.Needs(), ElementsAre(LaneNeed{{0, 0}, 20, true, false}));
  ASSERT_THAT(reader.OnKnown(0, {.rows = 24, .ended = true, .tails = {1, 1}}), IsOk());
  reader.OnPlaced({0, 0}, Worker(7));
  EXPECT_THAT(Actions(reader), ElementsAre("to 7: want 0[20,21)", "to 7: want 0[2,3)",
                                           "to 7: want 0[1,2)"));
  EXPECT_THAT(reader.Needs(), ElementsAre(LaneNeed{{0, 0}, 1, true, true}));
}

TEST(FixedReaderTest, ASliceNeedsItsBatchFromTheStart) {
  FixedReaderOptions options = Global(2, Remainder::kDrop);
  options.consumer = 1;
  FixedReader reader(options, DealAll({8}, 1));
  EXPECT_EQ(reader.Needs()[0].from, 0);
}

TEST(FixedReaderTest, SaysWhichLaneIsWaitedFor) {
  FixedReader reader(Options(), DealAll({2, 2}, 2));
  EXPECT_EQ(reader.waits_for(), (api::LaneAddress{0, 0}));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  EXPECT_EQ(reader.waits_for(), std::nullopt);
  reader.Take();
  EXPECT_EQ(reader.waits_for(), (api::LaneAddress{0, 1}));
  EXPECT_EQ(reader.taken(), 1);
}

TEST(FixedReaderTest, TellsWhatItKnowsOfLanes) {
  FixedReader reader(Unknown(), UnknownLanes(2, 2));
  ASSERT_THAT(reader.OnBatch(Head(0, 0, 2), TokenOf(1)), IsOk());
  ASSERT_THAT(reader.OnEnd({{0, 1}, 0}), IsOk());
  EXPECT_THAT(reader.Known(),
              testing::UnorderedElementsAre(api::KnownRows{{0, 0}, 2, false},
                                            api::KnownRows{{0, 1}, 0, true}));
}

// After any number of batches every consumer says the same, and that is the definition
// of the order: what is left after so many rounds.
TEST(FixedReaderTest, WhatIsLeftIsThatOfTheOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    std::vector<int64_t> rows(random.Integer(1, 12));
    for (int64_t& lane : rows) lane = random.Integer(0, 9);
    const lanes::Rest rest = DealAll(rows, random.Integer(1, 5));
    const int64_t consumers = random.Integer(1, 4);
    const lanes::TrackOrder order(rest, {.rows = 2});
    for (int64_t consumer = 0; consumer < consumers; ++consumer) {
      FixedReader reader(Options(consumer, consumers), rest);
      Source source(rows);
      EXPECT_EQ(reader.rest(), rest);
      while (!source.Take(reader, 1).empty()) {
        ASSERT_EQ(reader.rest(), order.After(reader.taken() * consumers)) << seed;
      }
      EXPECT_EQ(reader.taken(), order.positions() / consumers);
    }
  }
}

TEST(FixedReaderTest, WhatIsLeftOfGlobalBatchesIsThatOfTheOrder) {
  const lanes::Rest rest = DealAll({5, 6, 7}, 2);
  const lanes::TrackOrder order(rest, {.rows = 4});
  FixedReader reader(Global(2, Remainder::kKeep), rest);
  Source source({5, 6, 7}, 4);
  while (!source.Take(reader, 1).empty()) {
    ASSERT_EQ(reader.rest(), order.After(reader.taken()));
  }
  EXPECT_EQ(reader.taken(), order.positions());
}

// Lanes that were passed are forgotten now and then; what is still needed is not.
TEST(FixedReaderTest, ALongPassIsTakenToItsEnd) {
  const std::vector<int64_t> rows(200, 101);
  FixedReaderOptions options = Options();
  options.credit_bytes = 64;
  FixedReader reader(options, DealAll(rows, 16));
  EXPECT_EQ(Source(rows).Take(reader, 1'000'000).size(), 200 * 101 / 2);
  EXPECT_EQ(reader.ready(), Ready::kEnd);
  EXPECT_EQ(reader.rest().rows(), 0);
}

}  // namespace
}  // namespace millrace::delivery
