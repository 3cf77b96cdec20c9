#include "millrace/transport/mapped_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"

#include "millrace/base/descriptor.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/buffer.h"
#include "millrace/core/large_shared_allocator.h"
#include "millrace/core/pool.h"

namespace millrace::transport {
namespace {

using base::IsOk;
using base::StatusIs;

constexpr int64_t kBytes = int64_t{1} << 20;

class MappedArenaTest : public testing::Test {
 protected:
  core::Pool pool_{core::MakeLargeSharedAllocator(), {}};
  core::Buffer memory_ = pool_.Allocate(kBytes).value();
  base::Descriptor file_{dup(memory_.storage()->region().descriptor)};
};

TEST_F(MappedArenaTest, ShowsWhatIsWrittenNowAndLater) {
  const auto arena = MappedArena::Map(file_, kBytes, true).value();
  std::memcpy(memory_.mutable_data(), "first", 5);
  EXPECT_EQ(std::memcmp(arena->data(), "first", 5), 0);
  std::memcpy(arena->data(), "mine!", 5);  // A private page would stay as it is now.
  std::memcpy(memory_.mutable_data(), "again", 5);
  EXPECT_EQ(std::memcmp(arena->data(), "again", 5), 0);
}

TEST_F(MappedArenaTest, WhatIsSealedCannotBeWrittenToByAnyMeans) {
  ASSERT_EQ(fcntl(file_.number(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  const auto arena = MappedArena::Map(file_, kBytes, false).value();
  EXPECT_NE(mprotect(arena->data(), kBytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_THAT(MappedArena::Map(file_, kBytes, true),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_LT(pwrite(file_.number(), "x", 1, 0), 0);
  std::memcpy(memory_.mutable_data(), "worker", 6);  // Whose memory it is.
  EXPECT_EQ(std::memcmp(arena->data(), "worker", 6), 0);
  EXPECT_DEATH(std::memset(arena->data(), 1, 1), "");
}

TEST_F(MappedArenaTest, ASizeThatIsNotThatOfTheFileIsRefused) {
  for (const int64_t bytes :
       {int64_t{0}, int64_t{-1}, kBytes - 4096, kBytes + 4096, int64_t{1} << 62}) {
    EXPECT_THAT(MappedArena::Map(file_, bytes, false),
                StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(MappedArena::Map(base::Descriptor(), kBytes, false),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(MappedArenaTest, WhatCouldShrinkIsRefused) {
  const base::Descriptor open(memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(open.number(), kBytes), 0);
  EXPECT_THAT(MappedArena::Map(open, kBytes, false),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_NE(ftruncate(file_.number(), 0), 0);  // And what was given out cannot.
}

TEST_F(MappedArenaTest, StaysWhenTheMemoryIsGivenUpElsewhere) {
  const auto arena = MappedArena::Map(file_, kBytes, true).value();
  std::memcpy(memory_.mutable_data(), "kept", 4);
  memory_.storage()->Retire();
  memory_ = {};
  file_ = {};
  EXPECT_EQ(std::memcmp(arena->data(), "kept", 4), 0);
}

}  // namespace
}  // namespace millrace::transport
