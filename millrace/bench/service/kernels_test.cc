#include "millrace/bench/service/kernels.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::bench {
namespace {

// The batches of three rows with this function behind them.
std::vector<core::Block> BatchesWith(const std::string& function) {
  const auto& catalog = ServiceLibrary().catalog();
  const rewrite::Rewritten pipeline =
      *rewrite::Rewrite(*ir::Parse(base::StrCat("millrace 1\n%0 = range(stop=3)\n"
                                                "%1 = batch(%0, size=1)\n"
                                                "%2 = map(%1, function={x: ",
                                                function, "})\n"),
                                   {}, catalog),
                        catalog);
  exec::Engine engine({.threads = 1});
  const auto batches = *engine.Open(pipeline, ServiceLibrary(), {});
  std::vector<core::Block> all;
  while (std::optional<core::Block> batch = *batches->Next()) all.push_back(*batch);
  return all;
}

TEST(KernelsTest, WhatIsReadyIsNeverCopied) {
  const std::vector<core::Block> batches = BatchesWith("ready(.value, bytes=4096)");
  ASSERT_EQ(batches.size(), 3);
  const core::Column& first = *batches[0].Find("x");
  EXPECT_EQ(first.values().size(), 4096);
  EXPECT_EQ(batches[1].Find("x")->values().data(), first.values().data());
}

TEST(KernelsTest, ANapTakesItsTimeAndGivesWhatItGot) {
  const absl::Duration begin = base::RealClock().Monotonic();
  const std::vector<core::Block> batches =
      BatchesWith("nap(.value, microseconds=20000)");
  // Who waits for batches naps, too.
  EXPECT_GE(base::RealClock().Monotonic() - begin, absl::Milliseconds(20));
  ASSERT_EQ(batches.size(), 3);
  EXPECT_EQ(batches[2].Find("x")->As<int64_t>()[0], 2);
}

TEST(KernelsTest, TheDefaultLibraryDoesNotHaveThem) {
  EXPECT_FALSE(ops::DefaultLibrary().catalog().FindKernel("nap").ok());
  EXPECT_TRUE(ServiceLibrary().catalog().FindKernel("nap").ok());
}

}  // namespace
}  // namespace millrace::bench
