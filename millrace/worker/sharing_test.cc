#include "millrace/worker/sharing.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/ids.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::worker {
namespace {

using testing::Each;
using testing::ElementsAre;

delivery::SendBatch Send(int64_t token) {
  return {{}, {}, base::MakeId<delivery::Token>(token)};
}

delivery::Drop Drop(int64_t token) { return {base::MakeId<delivery::Token>(token)}; }

TEST(SharingTest, TheLastUseOfABlockIsTheOneBeforeItsDrop) {
  EXPECT_THAT(LastUses({Send(1), Drop(1)}), ElementsAre(true, false));
  EXPECT_THAT(LastUses({Send(1), Send(1), Drop(1), Send(2)}),
              ElementsAre(false, true, false, false));
  EXPECT_THAT(LastUses({Send(1), Send(2), Drop(2), Drop(1)}),
              ElementsAre(true, true, false, false));
}

// It may be sent again later.
TEST(SharingTest, ABlockThatIsNotDroppedHasNoLastUse) {
  EXPECT_THAT(LastUses({Send(1), Drop(2)}), Each(false));
  EXPECT_THAT(LastUses({Drop(1), Send(1)}), Each(false));
}

TEST(SharingTest, TheEnginesMemoryCanBeSharedUnlessThatIsOff) {
  EXPECT_TRUE(EngineOptionsOf({}).shares_memory);
  EXPECT_FALSE(EngineOptionsOf({.shares_memory = false}).shares_memory);
}

}  // namespace
}  // namespace millrace::worker
