#include "millrace/bench/service/fleet.h"

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/metadata/memory_store.h"

namespace millrace::bench {
namespace {

using base::IsOk;

TEST(FleetTest, EveryLaneIsPlacedAndItsEndWrittenDown) {
  metadata::MemoryStore store;
  auto loop = dispatcher::Loop::Start(store, {});
  ASSERT_THAT(loop, IsOk());
  const auto fleet = Fleet::Join(**loop, 4);
  ASSERT_THAT(fleet, IsOk());
  const auto events = [&] { return store.Load()->events.size(); };
  ASSERT_THAT((*fleet)->RunLanes(20), IsOk());
  ASSERT_THAT((*fleet)->RunLanes(20), IsOk());
  loop->reset();
  EXPECT_GE(events(), 40U);
}

TEST(FleetTest, WhatIsNeededMovesOn) {
  metadata::MemoryStore store;
  const auto loop = dispatcher::Loop::Start(store, {});
  ASSERT_THAT(loop, IsOk());
  const auto fleet = Fleet::Join(**loop, 1);
  ASSERT_THAT(fleet, IsOk());
  EXPECT_EQ((*fleet)->NeedingBeat(3).needs.front().at.lane, 0);
  ASSERT_THAT((*fleet)->RunLanes(3), IsOk());
  const api::ConsumerBeat beat = (*fleet)->NeedingBeat(2);
  ASSERT_EQ(beat.needs.size(), 2);
  EXPECT_EQ(beat.needs.front().at.lane, 3);
}

}  // namespace
}  // namespace millrace::bench
