#include "millrace/adapters/python/runner_process.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/ir/attachment.h"

// What functions give is tested from Python, with real ones; here, what happens when a
// process does not do as it should.
namespace millrace::python {
namespace {

core::Block OneRow() {
  core::Buffer values = *core::HeapPool().AllocateFor<int64_t>(1);
  values.MutableAs<int64_t>()[0] = 5;
  return core::Block(
      1, {"x"}, {core::Column::Dense(core::DType::kInt64, 1, core::Shape(), values)});
}

absl::Status StatusOfCall(const std::string& script) {
  const auto process =
      RunnerProcess::Start({.arguments = {"/bin/sh", "-c", script}, .hello = "{}"});
  if (!process.ok()) return process.status();
  const ir::Attachment function(std::string("function"));
  return (*process)
      ->Call({.function = function,
              .timeout = absl::Milliseconds(200),
              .start_timeout = absl::Milliseconds(200)},
             OneRow(), core::HeapPool())
      .status();
}

TEST(RunnerProcessTest, AProgramThatIsNotThereIsNamed) {
  const auto process = RunnerProcess::Start({.arguments = {"/no/python"}});
  EXPECT_EQ(process.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(process.status().message()),
              testing::HasSubstr("/no/python"));
}

TEST(RunnerProcessTest, NoProgramAtAllSaysWhereFunctionsRun) {
  EXPECT_THAT(std::string(RunnerProcess::Start({}).status().message()),
              testing::HasSubstr("only where the Python package"));
}

TEST(RunnerProcessTest, OneThatEndsTellsHow) {
  EXPECT_THAT(std::string(StatusOfCall("exit 7").message()),
              testing::HasSubstr("exit code 7"));
  EXPECT_THAT(std::string(StatusOfCall("kill -9 $$").message()),
              testing::HasSubstr("signal 9"));
}

TEST(RunnerProcessTest, OneThatHangsIsEnded) {
  const absl::Status status = StatusOfCall("exec sleep 1000");
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("did not return"));
}

}  // namespace
}  // namespace millrace::python
