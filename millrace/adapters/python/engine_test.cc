#include "millrace/adapters/python/engine.h"

#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"

namespace millrace::python {
namespace {

Engine MadeEngine() {
  return Engine({.threads = 2, .memory_bytes = 256 << 20, .cache_bytes = 64 << 20});
}

// Of a field of batches: rows of a block that has only one come without an axis.
const Array& ArrayOf(const Rows& rows) {
  if (const auto* all = std::get_if<Array>(rows.columns.data())) return *all;
  return std::get<Array>(std::get<std::vector<FieldValue>>(rows.columns[0]).at(0));
}

std::vector<int64_t> NumbersOf(const Rows& rows) {
  const Array& array = ArrayOf(rows);
  const int64_t count = std::accumulate(array.shape.begin(), array.shape.end(),
                                        int64_t{1}, std::multiplies<>());
  std::vector<int64_t> numbers(count);
  std::memcpy(numbers.data(), array.data, count * sizeof(int64_t));
  return numbers;
}

std::vector<int64_t> Rest(Iterator& iterator) {
  std::vector<int64_t> all;
  while (std::optional<Rows> rows = iterator.Next()) {
    const std::vector<int64_t> numbers = NumbersOf(*rows);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

Pipeline Shuffled() {
  return Pipeline::Parse(
      "%0 = range(stop=1000)\n%1 = shuffle(%0, window=50)\n%2 = batch(%1, size=7)\n",
      {});
}

TEST(EngineTest, LargeArraysCanBeSharedWhereThatIsAskedFor) {
  const Pipeline large =
      Pipeline::Parse("%0 = range(stop=200000)\n%1 = batch(%0, size=200000)\n", {});
  for (const bool shares : {true, false}) {
    const Engine engine(
        {.threads = 1, .memory_bytes = 64 << 20, .shares_memory = shares});
    const std::optional<Rows> rows = engine.Open(large, {})->Next();
    ASSERT_TRUE(rows.has_value());
    const SharedPlace& shared = ArrayOf(*rows).shared;
    EXPECT_EQ(shared.descriptor >= 0, shares);
    EXPECT_GE(shared.bytes, shared.offset + 200'000 * int64_t{8});
  }
}

TEST(EngineTest, GoesOnFromAStateInJson) {
  const Engine engine = MadeEngine();
  const auto whole = engine.Open(Shuffled(), {.seed = 3, .epoch = 1});
  const std::vector<int64_t> all = Rest(*whole);
  const auto first = engine.Open(Shuffled(), {.seed = 3, .epoch = 1});
  std::vector<int64_t> taken;
  for (int i = 0; i < 5; ++i) {
    const std::vector<int64_t> batch = NumbersOf(*first->Next());
    taken.insert(taken.end(), batch.begin(), batch.end());
  }
  const auto second =
      engine.Open(Shuffled(), {.seed = 3, .epoch = 1, .state = first->State().Json()});
  const std::vector<int64_t> rest = Rest(*second);
  taken.insert(taken.end(), rest.begin(), rest.end());
  EXPECT_EQ(taken, all);
  EXPECT_THAT(second->Facts(), testing::HasSubstr("\"rows\":965"));
  EXPECT_THAT(second->Report(), testing::HasSubstr("batch"));
}

TEST(EngineTest, CanTakeBlocksWithoutHandingThemOver) {
  const Engine engine = MadeEngine();
  const auto iterator = engine.Open(Shuffled(), {.seed = 3});
  EXPECT_EQ(iterator->Drain(100), 100);
  const Mark mark = iterator->State();
  EXPECT_EQ(iterator->Drain(100), 43);
  EXPECT_FALSE(iterator->Next().has_value());
  const auto again = engine.Open(Shuffled(), {.seed = 3, .state = mark.Json()});
  EXPECT_EQ(again->Drain(100), 43);
}

TEST(EngineTest, ABatchComesInItsOwnShape) {
  const Engine engine = MadeEngine();
  const std::optional<Rows> batch = engine.Open(Shuffled(), {})->Next();
  EXPECT_EQ(batch->count, 1);
  EXPECT_EQ(ArrayOf(*batch).shape, std::vector<int64_t>({7}));
}

TEST(EngineTest, WhatIsHandedOverIsNobodyElses) {
  const Engine engine = MadeEngine();
  const Pipeline cached = Pipeline::Parse(
      "%0 = range(stop=64)\n%1 = cache(%0)\n%2 = batch(%1, size=16)\n", {});
  const std::vector<int64_t> before = Rest(*engine.Open(cached, {}));
  const auto writing = engine.Open(cached, {});
  while (std::optional<Rows> rows = writing->Next()) {
    std::memset(ArrayOf(*rows).data, 0xff, 16 * sizeof(int64_t));
  }
  EXPECT_EQ(Rest(*engine.Open(cached, {})), before);
}

TEST(EngineTest, RowsAreFoundAgainWhereSomebodyAsks) {
  const Engine engine = MadeEngine();
  const auto iterator = engine.Open(Shuffled(), {.seed = 3, .origins = true});
  for (int batch = 0; batch < 5; ++batch) {
    const Rows rows = *iterator->Next();
    const auto& values = ArrayOf(rows);
    const auto* numbers = static_cast<const int64_t*>(values.data);
    const std::vector<std::vector<Origin>> origins = iterator->Origins(0);
    ASSERT_EQ(std::ssize(origins), values.shape[0]);
    for (size_t i = 0; i < origins.size(); ++i) {
      ASSERT_EQ(origins[i].size(), 1);
      EXPECT_EQ(origins[i][0].offset, numbers[i]);
      EXPECT_EQ(origins[i][0].file, std::nullopt);
    }
    EXPECT_THROW(iterator->Origins(1), Error);
  }
  EXPECT_THROW(engine.Open(Shuffled(), {})->Origins(0), Error);
}

TEST(EngineTest, TextsAndRaggedValuesComeRowByRow) {
  const Engine engine = MadeEngine();
  const PackedRows packed = PackRows(
      {{{"t", Plain(std::string("ab"))},
        {"w", TextList{.shape = {2}, .texts = {"x", "y"}}}},
       {{"t", Plain(std::string(""))}, {"w", TextList{.shape = {1}, .texts = {"z"}}}}});
  const auto list = [](const std::vector<Attachment>& attachments) {
    std::vector<Argument> items;
    for (const Attachment& attachment : attachments) {
      items.push_back({std::make_shared<const Attachment>(attachment)});
    }
    return Argument{items};
  };
  const Pipeline rows = Pipeline::Make(
      "from_rows",
      {{"names",
        Argument{std::vector<Argument>{{std::string("t")}, {std::string("w")}}}},
       {"values", list(packed.values)},
       {"shapes", list(packed.shapes)}},
      {});
  const Pipeline batched =
      Pipeline::Make("ragged_batch", {{"size", Argument{int64_t{2}}}}, {rows});
  const auto iterator = engine.Open(batched, {});
  const Rows batch = *iterator->Next();
  const auto& texts =
      std::get<Texts>(std::get<std::vector<FieldValue>>(batch.columns[0])[0]);
  EXPECT_THAT(texts.texts, testing::ElementsAre("ab", ""));
  const auto& ragged =
      std::get<Ragged>(std::get<std::vector<FieldValue>>(batch.columns[1])[0]);
  EXPECT_THAT(std::get<Texts>(ragged.values).texts,
              testing::ElementsAre("x", "y", "z"));
  EXPECT_EQ(std::get<int64_t>(ragged.axes[0]), 2);
}

TEST(EngineTest, AStateThatIsNoneIsAnError) {
  const Engine engine = MadeEngine();
  EXPECT_THROW(engine.Open(Shuffled(), {.state = "{}"}), Error);
  EXPECT_THROW(engine.Open(Shuffled(), {.state = "nonsense"}), Error);
}

}  // namespace
}  // namespace millrace::python
