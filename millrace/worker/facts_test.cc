#include "millrace/worker/facts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/machine_name.h"
#include "millrace/api/service.h"
#include "millrace/base/text.h"
#include "millrace/worker/worker.h"

namespace millrace::worker {
namespace {

using testing::ElementsAre;

TEST(FactsTest, ReadersFindItWhereItListens) {
  WorkerOptions options;
  options.server.host = "10.0.0.7";
  EXPECT_EQ(FactsOf(options, 1, 5050).address, "10.0.0.7:5050");
}

TEST(FactsTest, WhoListensOnAllInterfacesIsFoundByTheMachinesName) {
  for (const char* all : {"0.0.0.0", "::", ""}) {
    WorkerOptions options;
    options.server.host = all;
    EXPECT_EQ(FactsOf(options, 1, 5050).address,
              base::StrCat(http::MachineName(), ":5050"))
        << all;
  }
}

TEST(FactsTest, AnotherAddressIsToldWhereReadersNeedIt) {
  WorkerOptions options;
  options.server.host = "0.0.0.0";
  options.advertise = {"node-7", 0};
  EXPECT_EQ(FactsOf(options, 1, 5050).address, "node-7:5050");
  options.advertise = {"node-7", 30000};
  EXPECT_EQ(FactsOf(options, 1, 5050).address, "node-7:30000");
}

// Consumers tell theirs in the same way: so both are seen to be on one machine,
// whatever address the worker has.
TEST(FactsTest, ItIsOnTheMachineThatItRunsOnUnlessItIsToldOtherwise) {
  WorkerOptions options;
  EXPECT_EQ(FactsOf(options, 1, 5050).host, http::MachineName());
  options.host_name = "the trainer's";
  EXPECT_EQ(FactsOf(options, 1, 5050).host, "the trainer's");
}

TEST(FactsTest, TellsWhatItCanTake) {
  WorkerOptions options;
  options.tags = {"big"};
  options.lanes_max = 12;
  options.engine.memory_bytes = 1 << 20;
  options.allows_python = true;
  options.packages = {{"numpy", "2.0"}};
  options.index = 2;
  options.of = 3;
  const api::WorkerFacts facts = FactsOf(options, 9, 5050);
  EXPECT_EQ(facts.worker, 9);
  EXPECT_THAT(facts.tags, ElementsAre("big"));
  EXPECT_EQ(facts.lanes_max, 12);
  EXPECT_EQ(facts.memory_bytes, 1 << 20);
  EXPECT_TRUE(facts.python);
  EXPECT_THAT(facts.packages, ElementsAre(api::Package{"numpy", "2.0"}));
  EXPECT_EQ(facts.index, 2);
  EXPECT_EQ(facts.of, 3);
}

}  // namespace
}  // namespace millrace::worker
