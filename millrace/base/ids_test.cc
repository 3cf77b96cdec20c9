#include "millrace/base/ids.h"

#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "gtest/gtest.h"

namespace millrace::base {
namespace {

enum class WorkerId : int64_t {};
enum class LaneId : int64_t {};
enum class Colour { kRed };

enum OldStyle : int64_t {};

static_assert(Id<WorkerId>);
static_assert(!Id<int64_t>);
static_assert(!Id<Colour>, "an enum of choices is no id");
static_assert(!Id<OldStyle>, "it converts to a number by itself");
static_assert(!std::is_convertible_v<LaneId, WorkerId>);
static_assert(ToNumber(MakeId<WorkerId>(7)) == 7);
static_assert(Next(MakeId<WorkerId>(7)) == WorkerId{8});

TEST(IdsTest, ConvertToNumbersAndBack) {
  for (const int64_t number : {int64_t{-1}, int64_t{0}, int64_t{1} << 40}) {
    EXPECT_EQ(ToNumber(MakeId<LaneId>(number)), number);
  }
}

TEST(IdsTest, AreOrderedAsTheirNumbers) {
  EXPECT_LT(LaneId{1}, LaneId{2});
  EXPECT_EQ(Next(LaneId{1}), LaneId{2});
}

TEST(IdsTest, PrintTheirNumbers) { EXPECT_EQ(ToString(WorkerId{-12}), "-12"); }

TEST(IdsTest, AreKeysOfHashMaps) {
  absl::flat_hash_map<WorkerId, int> cores;
  cores[WorkerId{1}] = 4;
  cores[WorkerId{2}] = 8;
  EXPECT_EQ(cores.at(WorkerId{2}), 8);
}

TEST(IdsTest, HaveNoneAfterTheLast) {
  EXPECT_DEATH(Next(LaneId{std::numeric_limits<int64_t>::max()}), "check failed");
}

}  // namespace
}  // namespace millrace::base
