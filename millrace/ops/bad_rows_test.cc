#include "millrace/ops/bad_rows.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace millrace::ops {
namespace {

TEST(BadRowsTest, ByDefaultNoneIsLeftOut) {
  const absl::Status why = absl::DataLossError("the checksum does not fit");
  EXPECT_EQ(NoBadRows().LeaveOut({.why = why}), why);
}

}  // namespace
}  // namespace millrace::ops
