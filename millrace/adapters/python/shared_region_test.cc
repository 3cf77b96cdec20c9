#include "millrace/adapters/python/shared_region.h"

#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace millrace::python {
namespace {

TEST(SharedRegionTest, TwoMappingsAreTheSameMemory) {
  const auto made = *SharedRegion::Make(1 << 16);
  const auto mapped = *SharedRegion::Map(dup(made->descriptor()), 1 << 16);
  std::memcpy(made->data(), "hello", 6);
  EXPECT_STREQ(reinterpret_cast<const char*>(mapped->data()), "hello");
  EXPECT_NE(made->data(), mapped->data());
}

TEST(SharedRegionTest, AFileThatIsShorterThanSaidIsRefused) {
  const auto made = *SharedRegion::Make(1 << 12);
  EXPECT_EQ(SharedRegion::Map(dup(made->descriptor()), 1 << 16).status().code(),
            absl::StatusCode::kInternal);
  EXPECT_FALSE(SharedRegion::Map(-1, 1 << 12).ok());
}

}  // namespace
}  // namespace millrace::python
