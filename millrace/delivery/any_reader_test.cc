#include "millrace/delivery/any_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/rights.h"
#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/base/status_matchers.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"

namespace millrace::delivery {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::MakeId;
using base::StatusIs;
using lanes::kRowsMax;
using lanes::LaneRange;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Ready = AnyReader::Ready;

constexpr WorkerId kWorker = MakeId<WorkerId>(1);

// A reader of batches of 4 rows, and a worker that has all lanes and sends what it is
// asked for when it is told to.
class Reading {
 public:
  // `rows` are the true rows of the lanes.
  explicit Reading(std::vector<int64_t> rows, bool counted = false,
                   AnyReaderOptions options = {})
      : rows_(std::move(rows)), reader_(With(std::move(options)), Seen(counted)) {}

  AnyReader& reader() { return reader_; }

  // News with these rights and this horizon.
  void Tell(std::vector<api::Right> rights, int64_t horizon) {
    api::PassNews news{.rights = std::move(rights), .horizon = horizon};
    Tell(news);
  }

  void Tell(const api::PassNews& news) {
    reader_.OnNews(news);
    for (const LaneNeed& need : reader_.Needs()) reader_.OnPlaced(need.at, kWorker);
    Listen();
  }

  // Sends what was asked for, and what is asked for then.
  void Serve() {
    while (!wants_.empty()) {
      const std::map<int64_t, std::vector<api::Want>> wants = std::exchange(wants_, {});
      for (const auto& [right, asked] : wants) {
        for (const api::Want& want : asked) Send(want);
      }
      Listen();
    }
  }

  // Takes all that can be.
  std::vector<std::vector<LaneRange>> TakeAll() {
    std::vector<std::vector<LaneRange>> taken;
    for (; reader_.ready() == Ready::kBatch; Serve()) {
      const TakenBatch batch = reader_.Take();
      valid_ = batch.valid;
      std::vector<LaneRange>& rows = taken.emplace_back();
      for (const BatchPart& part : batch.parts) {
        LaneRange range = held_.at(part.token);
        range.begin += part.skip;
        range.end = range.begin + part.rows;
        rows.push_back(range);
        if (part.last_use) held_.erase(part.token);
      }
      Listen();
    }
    return taken;
  }

  int64_t held() const { return std::ssize(held_); }

  int64_t valid() const { return valid_; }  // Of the batch that was taken last.

  int64_t asked() const {
    int64_t asked = 0;
    for (const auto& [right, wants] : wants_) asked += std::ssize(wants);
    return asked;
  }

 private:
  static AnyReaderOptions With(AnyReaderOptions options) {
    options.batching.rows = 4;
    return options;
  }

  std::vector<int64_t> Seen(bool counted) const {
    return counted ? rows_ : std::vector<int64_t>(rows_.size(), kRowsMax);
  }

  void Listen() {
    for (ReaderAction& action : reader_.TakeActions()) {
      if (const auto* drop = std::get_if<Drop>(&action)) {
        EXPECT_EQ(held_.erase(drop->token), 1);
        continue;
      }
      const api::ReaderMessage& message = std::get<SendWants>(action).message;
      for (const api::LaneAddress& at : message.forget) wants_.erase(at.right);
      for (const api::Want& want : message.wants) {
        wants_[want.at.right].push_back(want);
      }
    }
  }

  void Send(const api::Want& want) {
    const int64_t end = std::min(want.end, rows_[want.at.lane]);
    if (want.begin < end) {
      const Token token = MakeId<Token>(next_token_++);
      held_[token] = {want.at.lane, want.begin, end};
      const bool tail = end == rows_[want.at.lane];
      ASSERT_THAT(
          reader_.OnBatch({want.at, want.begin, end, tail, end - want.begin}, token),
          IsOk());
    }
    if (end < want.end) {
      ASSERT_THAT(reader_.OnEnd({want.at, rows_[want.at.lane]}), IsOk());
    }
  }

  std::vector<int64_t> rows_;
  AnyReader reader_;
  std::map<int64_t, std::vector<api::Want>> wants_;  // By right.
  std::map<Token, LaneRange> held_;
  int64_t next_token_ = 0;
  int64_t valid_ = 0;
};

api::Right Right(int64_t number, int64_t lane, int64_t begin = 0,
                 int64_t end = kRowsMax) {
  return {number, lane, begin, end};
}

// --- Taking ---

TEST(AnyReaderTest, TakesTheBatchesOfARightInOrder) {
  Reading reading({12});
  reading.Tell({Right(1, 0)}, 3);
  reading.Serve();
  EXPECT_THAT(reading.TakeAll(), ElementsAre(ElementsAre(LaneRange{0, 0, 4}),
                                             ElementsAre(LaneRange{0, 4, 8}),
                                             ElementsAre(LaneRange{0, 8, 12})));
  EXPECT_THAT(reading.reader().Beat().finished, ElementsAre(api::RightPlace{1, 12}));
  EXPECT_THAT(reading.reader().taken_rows().finished().Lanes(), ElementsAre(0));
}

TEST(AnyReaderTest, CountsBatchesFromTheStartOfTheRight) {
  Reading reading({12});
  reading.Tell({Right(1, 0, 3, 11)}, 9);
  reading.Serve();
  EXPECT_THAT(reading.TakeAll(), ElementsAre(ElementsAre(LaneRange{0, 3, 7}),
                                             ElementsAre(LaneRange{0, 7, 11})));
}

TEST(AnyReaderTest, NeverTakesBeyondTheHorizon) {
  Reading reading({12});
  reading.Tell({Right(1, 0)}, 2);
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 2);
  EXPECT_EQ(reading.reader().ready(), Ready::kWait);
  reading.Tell({Right(1, 0)}, 1);
  EXPECT_EQ(reading.reader().horizon(), 2) << "it only grows";
  reading.Tell({Right(1, 0)}, 3);
  EXPECT_EQ(reading.TakeAll().size(), 1);
}

TEST(AnyReaderTest, EndsAtTheLastHorizon) {
  Reading reading({12});
  reading.Tell({Right(1, 0)}, 1);
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 1);
  EXPECT_EQ(reading.reader().ready(), Ready::kWait);
  reading.Tell({.rights = {Right(1, 0)}, .horizon = 1, .final = true});
  EXPECT_EQ(reading.reader().ready(), Ready::kEnd);
  EXPECT_EQ(reading.held(), 0) << "what is left out is dropped";
  EXPECT_THAT(reading.reader().Needs(), IsEmpty());
}

TEST(AnyReaderTest, JoinsTheTailsOfItsLanes) {  // 1 whole, and 2 + 3 rows.
  Reading reading({6, 3});
  reading.Tell({Right(1, 0), Right(2, 1)}, 9);
  reading.Serve();
  EXPECT_THAT(reading.TakeAll(),
              ElementsAre(ElementsAre(LaneRange{0, 0, 4}),
                          ElementsAre(LaneRange{0, 4, 6}, LaneRange{1, 0, 2})));
  EXPECT_TRUE(reading.reader().Beat().hungry);
  EXPECT_THAT(reading.reader().Held(), ElementsAre(LaneRange{1, 2, 3}));
}

TEST(AnyReaderTest, TakesABatchThatWasDealtOnceAllOfItIsThere) {
  Reading reading({6, 3});
  reading.Tell({.rights = {{1, 0, 4, 6, 7}, {2, 1, 0, 1, 7}}, .horizon = 1});
  EXPECT_EQ(reading.reader().ready(), Ready::kWait);
  reading.Serve();
  EXPECT_THAT(reading.TakeAll(),
              ElementsAre(ElementsAre(LaneRange{0, 4, 6}, LaneRange{1, 0, 1})));
  EXPECT_EQ(reading.reader().Beat().finished.size(), 2);
}

TEST(AnyReaderTest, FillsTheLastRoundUpWithWhatThePassBeganWith) {
  Reading reading({3, 0, 9});
  reading.Tell({.rights = {}, .horizon = 0, .final = true, .fill = 0});
  EXPECT_EQ(reading.reader().ready(), Ready::kWait);
  for (int64_t lane = 0; lane < 3; ++lane) {
    for (const LaneNeed& need : reading.reader().Needs()) {
      reading.reader().OnPlaced(need.at, kWorker);
    }
    reading.Tell({.rights = {}, .horizon = 0, .final = true, .fill = 0});
    reading.Serve();
  }
  EXPECT_THAT(reading.TakeAll(),
              ElementsAre(ElementsAre(LaneRange{0, 0, 3}, LaneRange{2, 0, 1})));
  EXPECT_EQ(reading.valid(), 0);
  EXPECT_EQ(reading.reader().ready(), Ready::kEnd);
  EXPECT_THAT(reading.reader().taken_rows().parts(), IsEmpty());
}

TEST(AnyReaderTest, FindsALaneThatCameOutDifferently) {
  Reading reading({12});
  reading.Tell({Right(1, 0)}, 3);
  AnyReader& reader = reading.reader();
  ASSERT_THAT(reader.OnBatch({{0, 0, 1}, 0, 4, false, 4, {}, {1, 1}}, Token{}), IsOk());
  EXPECT_THAT(
      reader.OnBatch({{0, 0, 1}, 4, 8, false, 4, {1, 2}, {1, 3}}, MakeId<Token>(1)),
      StatusIs(StatusCode::kDataLoss, HasSubstr("lane 0 came out differently")));
}

// --- Asking ---

TEST(AnyReaderTest, AsksWithinItsCredits) {
  Reading reading({40}, false, {.credit_bytes = 8, .batch_bytes = 4});
  reading.Tell({Right(1, 0)}, 9);
  EXPECT_EQ(reading.asked(), 2);
}

TEST(AnyReaderTest, AsksForOneBatchWhateverItsCredits) {
  Reading reading({40}, false, {.credit_bytes = 1, .batch_bytes = 4});
  reading.Tell({Right(1, 0)}, 9);
  EXPECT_EQ(reading.asked(), 1);
  reading.Serve();
  EXPECT_EQ(reading.asked(), 0) << "that one is to be taken first";
}

TEST(AnyReaderTest, AsksEvenlyOfAllRights) {
  Reading reading({40, 40}, false, {.credit_bytes = 16, .batch_bytes = 4});
  reading.Tell({Right(1, 0), Right(2, 1)}, 9);
  EXPECT_EQ(reading.asked(), 4);
  for (const LaneNeed& need : reading.reader().Needs()) EXPECT_TRUE(need.now);
}

TEST(AnyReaderTest, AsksAgainWhereALaneIsRunNow) {
  Reading reading({12});
  reading.Tell({Right(1, 0)}, 3);
  reading.reader().OnWorkerGone(kWorker);
  EXPECT_FALSE(reading.reader().Needs().front().placed);
  reading.Tell({Right(1, 0)}, 3);  // It is placed again.
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 3);
}

TEST(AnyReaderTest, TellsWhatItWaitsFor) {
  Reading reading({12});
  EXPECT_EQ(reading.reader().waits_for(), std::nullopt);
  reading.Tell({Right(1, 0)}, 3);
  EXPECT_EQ(reading.reader().waits_for(), (api::LaneAddress{0, 0, 1}));
  reading.Serve();
  EXPECT_EQ(reading.reader().waits_for(), std::nullopt);
}

// --- Giving up ---

TEST(AnyReaderTest, GivesUpWholeBatchesThatItHasNot) {
  Reading reading({22}, true);
  reading.Tell({Right(1, 0, 0, 22)}, 2);
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 2);
  api::PassNews news{.rights = {Right(1, 0, 0, 22)}, .horizon = 3, .final = true};
  news.asks = {{4, 2}};
  reading.Tell(news);
  EXPECT_THAT(reading.reader().Beat().promises,
              ElementsAre(api::Promise{1, 12, 20, 4}));
  // It remembers, and does not promise twice.
  reading.Tell(news);
  EXPECT_EQ(reading.reader().Beat().promises.size(), 1);
  EXPECT_THAT(reading.reader().Held(),
              ElementsAre(LaneRange{0, 8, 12}, LaneRange{0, 20, 22}));
  EXPECT_EQ(reading.TakeAll().size(), 1);
  EXPECT_EQ(reading.reader().ready(), Ready::kEnd);
}

TEST(AnyReaderTest, ForgetsAPromiseOnceItIsKept) {
  Reading reading({22}, true);
  api::PassNews news{.rights = {Right(1, 0, 0, 22)}, .horizon = 3, .final = true};
  news.asks = {{4, 2}};
  reading.Tell(news);
  ASSERT_EQ(reading.reader().Beat().promises.size(), 1);
  reading.Tell({.rights = {Right(1, 0, 0, 12), Right(2, 0, 20, 22)}, .horizon = 3});
  EXPECT_THAT(reading.reader().Beat().promises, IsEmpty());
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 3);
}

TEST(AnyReaderTest, GivesUpRowsThatFillNoBatch) {
  Reading reading({6, 7}, true);
  api::PassNews news{.rights = {Right(1, 0, 0, 6), Right(2, 1, 0, 7)}, .horizon = 3};
  news.final = true;
  news.give_rows = 1;  // Of 2 + 3.
  reading.Tell(news);
  EXPECT_THAT(reading.reader().Beat().promises,
              ElementsAre(api::Promise{2, 6, 7, api::kToLeftovers}));
  reading.Serve();
  EXPECT_THAT(
      reading.TakeAll(),
      ElementsAre(ElementsAre(LaneRange{0, 0, 4}), ElementsAre(LaneRange{1, 0, 4}),
                  ElementsAre(LaneRange{0, 4, 6}, LaneRange{1, 4, 6})));
}

TEST(AnyReaderTest, GivesUpTailsWhereItHasNoWholeBatch) {
  Reading reading({3, 3, 3}, true);
  api::PassNews news{.horizon = 1, .final = true};
  news.rights = {Right(1, 0, 0, 3), Right(2, 1, 0, 3), Right(3, 2, 0, 3)};
  news.give_rows = 1;
  news.asks = {{4, 1}};
  reading.Tell(news);
  int64_t rows = 0;
  for (const api::Promise& promise : reading.reader().Beat().promises) {
    EXPECT_EQ(promise.to, api::kToLeftovers);
    rows += promise.end - promise.begin;
  }
  EXPECT_EQ(rows, 5);
}

TEST(AnyReaderTest, GivesUpTheRestOfALaneWhoseEndIsNotKnown) {
  Reading reading({40}, false, {.credit_bytes = 8, .batch_bytes = 4});
  reading.Tell({Right(1, 0)}, 1);
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 1);
  reading.Tell({.rights = {Right(1, 0)}, .horizon = 1, .asks = {{2, 0}}});
  const auto promises = reading.reader().Beat().promises;
  ASSERT_EQ(promises.size(), 1);
  EXPECT_EQ(promises[0].begin, 12) << "it has two batches in hand";
  EXPECT_EQ(promises[0].end, kRowsMax);
}

TEST(AnyReaderTest, KeepsTheOnlyLaneItCanGoOnWith) {
  Reading reading({40});
  reading.Tell({.rights = {Right(1, 0)}, .horizon = 1, .asks = {{2, 0}}});
  EXPECT_THAT(reading.reader().Beat().promises, IsEmpty());
}

TEST(AnyReaderTest, KeepsWhatIsHereOfARightThatGotAnotherNumber) {
  Reading reading({6}, true);
  reading.Tell({Right(1, 0, 0, 6)}, 0);
  reading.Serve();
  ASSERT_EQ(reading.held(), 2);
  reading.Tell({Right(1, 0, 0, 4), Right(2, 0, 4, 6)}, 0);
  EXPECT_EQ(reading.held(), 2);
  EXPECT_THAT(reading.reader().Needs(), IsEmpty());
}

TEST(AnyReaderTest, DropsWhatBelongsToAnotherNow) {
  Reading reading({8}, true);
  reading.Tell({Right(1, 0, 0, 8)}, 0);
  reading.Serve();
  ASSERT_EQ(reading.held(), 2);
  reading.Tell({Right(1, 0, 0, 4)}, 0);
  EXPECT_EQ(reading.held(), 1);
  reading.Tell(std::vector<api::Right>{}, 0);
  EXPECT_EQ(reading.held(), 0);
}

TEST(AnyReaderTest, WaitsForNoHorizonWhereItIsAlone) {
  Reading reading({10}, false, {.alone = true});
  reading.Tell({Right(1, 0)}, 0);
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 2);
  EXPECT_EQ(reading.reader().ready(), Ready::kWait) << "for the count, and its tail";
  api::PassNews news{.rights = {{2, 0, 8, 10, 1}}, .horizon = 3};
  news.final = true;
  reading.Tell(news);
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 1);
  EXPECT_EQ(reading.reader().ready(), Ready::kEnd);
}

// --- When a worker is lost ---

TEST(AnyReaderTest, FinishesALaneAsItIsWhereThatIsWanted) {
  AnyReaderOptions options{.visit = Visit::kAtMostOnce};
  options.credit_bytes = 8;
  options.batch_bytes = 4;
  Reading reading({40}, false, options);
  reading.Tell({Right(1, 0)}, 9);
  reading.Serve();
  EXPECT_THAT(reading.reader().Beat().received, ElementsAre(api::RightPlace{1, 8}));
  reading.reader().OnWorkerGone(kWorker);
  EXPECT_THAT(reading.reader().Beat().promises,
              ElementsAre(api::Promise{1, 8, kRowsMax, api::kToNobody}));
  reading.Tell({Right(1, 0, 0, 8)}, 9);
  EXPECT_EQ(reading.TakeAll().size(), 2) << "what was received counts";
  EXPECT_THAT(reading.reader().Beat().finished, ElementsAre(api::RightPlace{1, 8}));
}

// --- When a worker has no more of what it shares ---

TEST(AnyReaderTest, GivesUpWhatItsWorkerSkipsWhereThatIsWanted) {
  AnyReaderOptions options{.visit = Visit::kAtMostOnce};
  options.credit_bytes = 8;
  options.batch_bytes = 4;
  Reading reading({40}, false, options);
  reading.Tell({Right(1, 0)}, 9);
  reading.reader().OnSkip({{0, 0, 1}, 4, 20});
  EXPECT_THAT(reading.reader().Beat().promises,
              ElementsAre(api::Promise{1, 4, 20, api::kToNobody}));
}

TEST(AnyReaderTest, AsksAgainForWhatMayNotBeSkipped) {
  AnyReaderOptions options;
  options.credit_bytes = 8;
  options.batch_bytes = 4;
  Reading reading({40}, false, options);
  reading.Tell({Right(1, 0)}, 9);
  EXPECT_EQ(reading.asked(), 2);
  reading.reader().OnSkip({{0, 0, 1}, 4, 8});
  reading.reader().OnSkip({{0, 0, 7}, 4, 8});  // Of nobody's.
  reading.Tell({Right(1, 0)}, 9);
  EXPECT_THAT(reading.reader().Beat().promises, IsEmpty());
  EXPECT_EQ(reading.asked(), 4) << "all that did not come yet";
}

TEST(AnyReaderTest, RedoesALaneFromItsStartWhereThatIsWanted) {
  AnyReaderOptions options{.visit = Visit::kAtLeastOnce};
  options.credit_bytes = 8;
  options.batch_bytes = 4;
  Reading reading({40}, false, options);
  reading.Tell({Right(1, 0)}, 1);
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 1);
  reading.reader().OnWorkerGone(kWorker);
  EXPECT_THAT(reading.reader().Beat().redo, ElementsAre(api::RightPlace{1, 4}));
  reading.Tell({Right(1, 0)}, 9);
  EXPECT_EQ(reading.reader().ready(), Ready::kWait) << "until it is";
  reading.Tell({Right(2, 0)}, 2);
  reading.Serve();
  EXPECT_THAT(reading.TakeAll().front(), ElementsAre(LaneRange{0, 0, 4}));
}

TEST(AnyReaderTest, RedoesNothingOnceAllIsCounted) {
  Reading reading({8}, true, {.visit = Visit::kAtLeastOnce, .credit_bytes = 4});
  reading.Tell({Right(1, 0, 0, 8)}, 1);
  reading.Serve();
  EXPECT_EQ(reading.TakeAll().size(), 1);
  reading.Tell({.rights = {Right(1, 0, 0, 8)}, .horizon = 2, .final = true});
  reading.reader().OnWorkerGone(kWorker);
  EXPECT_THAT(reading.reader().Beat().redo, IsEmpty());
}

// --- What no dispatcher should say ---

TEST(AnyReaderTest, NewsThatMakeNoSenseAreRecognised) {
  AnyReader reader({.batching = {2}}, {10, 10});
  const auto wrong = [&](const api::PassNews& news) {
    return std::string(reader.Check(news).message());
  };
  const auto wrong_right = [&](const api::Right& right) {
    return wrong({.rights = {right}});
  };
  EXPECT_EQ(wrong_right({1, 0, 0, 10}), "");
  EXPECT_EQ(wrong_right({-1, 0, 0, 10}),
            "the dispatcher's news make no sense: right -1 to rows 0 to 10 of lane 0");
  EXPECT_THAT(wrong_right({1, 2, 0, 10}), HasSubstr("of lane 2")) << "of two";
  EXPECT_THAT(wrong_right({1, 0, -1, 10}), HasSubstr("rows -1 to 10"));
  EXPECT_THAT(wrong_right({1, 0, 10, 10}), HasSubstr("rows 10 to 10"));
  EXPECT_THAT(wrong_right({1, 0, 0, 10, -1}), HasSubstr("right 1"));
  EXPECT_THAT(wrong({.rights = {{1, 0, 0, 6}, {2, 0, 5, 10}}}),
              HasSubstr("rights 1 and 2 overlap"));
  EXPECT_THAT(wrong({.horizon = -1}), HasSubstr("cannot be"));
  EXPECT_THAT(wrong({.give_rows = -1}), HasSubstr("cannot be"));
  EXPECT_THAT(wrong({.asks = {{1, 1LL << 62}}}), HasSubstr("cannot be"));
  reader.OnNews({.rights = {{1, 0, 0, 10}}});
  EXPECT_EQ(wrong_right({1, 0, 0, 8}), "") << "some of it was moved";
  EXPECT_THAT(wrong_right({1, 1, 0, 10}), HasSubstr("right 1 is another now"));
}

}  // namespace
}  // namespace millrace::delivery
