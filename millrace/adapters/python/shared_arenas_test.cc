#include "millrace/adapters/python/shared_arenas.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace millrace::python {
namespace {

constexpr size_t kArenaBytes = size_t{1} << 20;

size_t PageBytes() { return sysconf(_SC_PAGESIZE); }

// An arena with another number in each page.
std::byte* FilledArena(SharedArenas& arenas) {
  auto* const arena = static_cast<std::byte*>(arenas.Allocate(kArenaBytes));
  for (size_t at = 0; at < kArenaBytes; at += PageBytes()) {
    arena[at] = static_cast<std::byte>(at / PageBytes());
  }
  return arena;
}

// What looking at objects does to each page of an arena.
void CountThereAndBack(std::byte* arena) {
  volatile auto* const counts = reinterpret_cast<uint8_t*>(arena);
  for (size_t at = 0; at < kArenaBytes; at += PageBytes()) {
    counts[at] = counts[at] + 1;
    counts[at] = counts[at] - 1;
  }
}

bool IsFilled(const std::byte* arena) {
  for (size_t at = 0; at < kArenaBytes; at += PageBytes()) {
    if (arena[at] != static_cast<std::byte>(at / PageBytes())) return false;
  }
  return true;
}

// Whether a check holds in a forked process.
bool HoldsInChild(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// What this process has mapped of such files.
struct Mapped {
  int64_t bytes = 0;
  int64_t mappings = 0;
};

Mapped MappedNow() {
  std::ifstream maps("/proc/self/maps");
  Mapped found;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:millrace-objects") == std::string::npos) continue;
    size_t dash = 0;
    const uint64_t begin = std::stoull(line, &dash, 16);
    found.bytes +=
        static_cast<int64_t>(std::stoull(line.substr(dash + 1), nullptr, 16) - begin);
    ++found.mappings;
  }
  return found;
}

TEST(SharedArenasTest, CopiesThatEqualTheOriginalAreGivenBack) {
  SharedArenas arenas;
  std::byte* const first = FilledArena(arenas);
  std::byte* const second = FilledArena(arenas);
  EXPECT_EQ(arenas.Share(), 2 * kArenaBytes);
  EXPECT_TRUE(HoldsInChild([&] {
    CountThereAndBack(second);
    const GivenBack once = arenas.GiveBack();
    const GivenBack again = arenas.GiveBack();
    return once.copied_bytes == kArenaBytes && once.bytes == kArenaBytes &&
           again.copied_bytes == 0 && IsFilled(first) && IsFilled(second);
  }));
}

TEST(SharedArenasTest, WhatAProcessWroteStaysItsOwn) {
  SharedArenas arenas;
  std::byte* const arena = FilledArena(arenas);
  arenas.Share();
  EXPECT_TRUE(HoldsInChild([&] {
    arena[7] = std::byte{42};
    CountThereAndBack(arena);
    const GivenBack given = arenas.GiveBack();
    return given.copied_bytes - given.bytes == static_cast<int64_t>(PageBytes()) &&
           arena[7] == std::byte{42};
  }));
  EXPECT_EQ(arena[7], std::byte{0});
  arena[8] = std::byte{43};
  EXPECT_EQ(arenas.Share(), kArenaBytes);
  EXPECT_TRUE(HoldsInChild([&] { return arena[8] == std::byte{43}; }));
  EXPECT_TRUE(IsFilled(arena));
}

TEST(SharedArenasTest, NothingIsGivenBackWhileOtherThreadsRun) {
  SharedArenas arenas;
  std::byte* const arena = FilledArena(arenas);
  arenas.Share();
  CountThereAndBack(arena);
  absl::Notification stop;
  std::thread other([&] { stop.WaitForNotification(); });
  EXPECT_EQ(arenas.GiveBack().copied_bytes, 0);
  stop.Notify();
  other.join();
}

TEST(SharedArenasTest, FreedArenasAreUnmappedAndNotLookedAt) {
  const int64_t others = MappedNow().bytes;
  SharedArenas arenas;
  std::byte* const before = FilledArena(arenas);
  std::byte* const after = FilledArena(arenas);
  std::byte* const kept = FilledArena(arenas);
  arenas.Free(before, kArenaBytes);
  EXPECT_EQ(arenas.Share(), 2 * kArenaBytes);
  EXPECT_EQ(MappedNow().bytes - others, 2 * kArenaBytes);
  arenas.Free(after, kArenaBytes);
  EXPECT_EQ(MappedNow().bytes - others, kArenaBytes);
  EXPECT_TRUE(HoldsInChild([&] {
    CountThereAndBack(kept);
    return arenas.GiveBack().bytes == kArenaBytes && IsFilled(kept);
  }));
  arenas.Free(kept, kArenaBytes);
}

TEST(SharedArenasTest, LaterArenasArePlainMemory) {
  SharedArenas arenas;
  arenas.Share();
  const int64_t others = MappedNow().bytes;
  std::byte* const arena = FilledArena(arenas);
  EXPECT_EQ(MappedNow().bytes, others);
  EXPECT_TRUE(HoldsInChild([&] {
    CountThereAndBack(arena);
    return arenas.GiveBack().copied_bytes == 0;
  }));
  arenas.Free(arena, kArenaBytes);
}

TEST(SharedArenasTest, ManyArenasTakeFewMappings) {
  SharedArenas arenas;
  const Mapped before = MappedNow();
  std::vector<std::byte*> made(130);
  for (std::byte*& arena : made) arena = FilledArena(arenas);
  EXPECT_EQ(arenas.Share(), 130 * kArenaBytes);
  const Mapped after = MappedNow();
  EXPECT_EQ(after.bytes - before.bytes, 130 * kArenaBytes);
  EXPECT_LE(after.mappings - before.mappings, 4);
  for (std::byte* const arena : made) arenas.Free(arena, kArenaBytes);
  EXPECT_EQ(MappedNow().bytes, before.bytes);
}

}  // namespace
}  // namespace millrace::python
