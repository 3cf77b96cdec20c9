#include "millrace/transport/packing_choice.h"

#include <vector>

#include "gtest/gtest.h"

#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

constexpr auto kNone = PayloadCodec::kNone;
constexpr auto kLz4 = PayloadCodec::kLz4;
constexpr auto kZstd = PayloadCodec::kZstd;

// A link of so many bytes per second that all waits for, and payloads of which lz4
// halves 700 MB/s, and zstd makes a third of 400 MB/s.
LinkFacts Link(double bytes_per_second) {
  return {.waiting = 0.9,
          .bytes_per_second = bytes_per_second,
          .packings = {{kLz4, 2, 700e6}, {kZstd, 3, 400e6}}};
}

TEST(PackingChoiceTest, ASlowLinkIsSavedTheMost) {  // 100 → 200 with lz4, 300.
  EXPECT_EQ(ChoosePacking({}, Link(100e6)).codec, kZstd);
}

TEST(PackingChoiceTest, AFasterOneGetsWhatKeepsUp) {  // 300 → 600 with lz4, 400.
  const PackingChoice choice = ChoosePacking({}, Link(300e6));
  EXPECT_EQ(choice.codec, kLz4);
  EXPECT_EQ(choice.reason, "the link is the limit, and lz4 keeps up with it");
}

TEST(PackingChoiceTest, AFastOneIsLeftAlone) {  // 600 → 700 with lz4: 1.17 times.
  EXPECT_EQ(ChoosePacking({}, Link(600e6)),
            (PackingChoice{kNone, "packing would gain too little"}));
}

TEST(PackingChoiceTest, ZstdMustBeWorthMoreThanItCosts) {  // 190 → 380, 400: 1.05.
  EXPECT_EQ(ChoosePacking({}, Link(190e6)).codec, kLz4);
  EXPECT_EQ(ChoosePacking({.zstd_least = 1}, Link(190e6)).codec, kZstd);
}

TEST(PackingChoiceTest, WhatDoesNotGetSmallerIsNotPacked) {
  LinkFacts facts = Link(100e6);
  facts.packings = {{kLz4, 1.0, 3e9}, {kZstd, 1.02, 1e9}};
  EXPECT_EQ(ChoosePacking({}, facts).codec, kNone);
}

TEST(PackingChoiceTest, NeverOnOneHost) {
  LinkFacts facts = Link(1e6);
  facts.same_host = true;
  EXPECT_EQ(ChoosePacking({}, facts),
            (PackingChoice{kNone, "both ends are on one host"}));
}

TEST(PackingChoiceTest, OnlyWhereTheLinkIsTheLimit) {
  LinkFacts facts = Link(100e6);
  facts.waiting = 0.4;
  EXPECT_EQ(ChoosePacking({}, facts),
            (PackingChoice{kNone, "the link is not the limit"}));
  EXPECT_EQ(ChoosePacking({.waiting_least = 0.3}, facts).codec, kZstd);
}

TEST(PackingChoiceTest, NotBeforeAnythingIsKnown) {
  EXPECT_EQ(ChoosePacking({}, Link(0)), PackingChoice());
  LinkFacts facts = Link(100e6);
  facts.packings.clear();
  EXPECT_EQ(ChoosePacking({}, facts).reason, "the other side unpacks nothing");
}

}  // namespace
}  // namespace millrace::transport
