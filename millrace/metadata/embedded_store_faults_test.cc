// What may happen to an embedded store while it writes: its process is killed, the
// machine loses power, the disk is full, it runs for long.

#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/metadata/child_test.h"
#include "millrace/metadata/embedded_store.h"
#include "millrace/metadata/folder_test.h"
#include "millrace/metadata/metadata_store.h"

namespace millrace::metadata {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

base::Generator Random(int seed) { return {base::RandomKey(seed, 0, 0), {}}; }

// --- Transactions that say what is whole ---

// Some events, each with its transaction, its place in it, and how many there are.
std::vector<std::string> Transaction(int64_t number) {
  const int64_t count = 1 + number * 7 % 40;
  std::vector<std::string> events;
  events.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    events.push_back(
        base::StrCat(number, "/", i, "/", count, std::string(number % 300, '.')));
  }
  return events;
}

// The last transaction of a store, 0 for none. Checks that all up to there are whole,
// and in order: those that the snapshot does not count are there as events.
int64_t LastTransaction(const MetadataStore::Kept& kept) {
  int64_t last = 0;
  if (!kept.snapshot.empty()) CHECK(absl::SimpleAtoi(kept.snapshot, &last));
  auto event = kept.events.begin();
  while (event != kept.events.end()) {
    const std::vector<std::string> wanted = Transaction(++last);
    CHECK_LE(std::ssize(wanted), kept.events.end() - event) << "half of " << last;
    CHECK(std::equal(wanted.begin(), wanted.end(), event)) << "in " << last;
    event += std::ssize(wanted);
  }
  return last;
}

int64_t LastTransaction(const std::string& folder) {
  return LastTransaction(EmbeddedStore::Open(folder).value()->Load().value());
}

// Writes transactions, and now and then a snapshot, for ever; tells the number of each
// when it is durable.
void WriteForEver(const std::string& folder, const Teller& teller) {
  const auto store = EmbeddedStore::Open(folder).value();
  for (int64_t number = LastTransaction(store->Load().value()) + 1;; ++number) {
    CHECK(store->Append(Transaction(number)).ok());
    teller.Tell(base::StrCat(number));
    if (number % 13 == 0) CHECK(store->Snapshot(base::StrCat(number)).ok());
  }
}

// Has a process write until some transactions are acknowledged, and kills it; gives the
// last one that was.
int64_t WriteAndKill(const std::string& folder, int64_t transactions) {
  Child writer([&](const Teller& teller) { WriteForEver(folder, teller); });
  std::optional<std::string> last = "0";
  for (int64_t i = 0; i < transactions; ++i) last = writer.Next();
  writer.Kill();
  while (std::optional<std::string> line = writer.Next()) last = std::move(line);
  int64_t number = 0;
  CHECK(absl::SimpleAtoi(last.value(), &number));
  return number;
}

// --- Kills and power ---

TEST(EmbeddedStoreFaultsTest, WhatWasAcknowledgedSurvivesKill9) {
  const StoreFolder folder;
  int64_t last = 0;
  for (int seed = 0; seed < 30; ++seed) {
    const int64_t acknowledged =
        WriteAndKill(folder.path(), Random(seed).Integer(0, 20));
    const int64_t there = LastTransaction(folder.path());
    EXPECT_GE(there, std::max(last, acknowledged)) << "seed " << seed;
    // The one that was being written may be there, whole.
    EXPECT_LE(there, std::max(last, acknowledged) + 1) << "seed " << seed;
    last = there;
  }
  EXPECT_GT(last, 100);
}

// A log that ends anywhere, as after a loss of power, gives whole transactions.
TEST(EmbeddedStoreFaultsTest, OfATornLogWholeTransactionsAreLeft) {
  const StoreFolder written;
  const int64_t last = WriteAndKill(written.path(), 30);
  const std::string file = base::ReadFile(written.file());
  const std::string log = base::ReadFile(written.log());
  ASSERT_GT(log.size(), 100'000);
  int64_t most = 0;
  for (int seed = 0; seed < 40; ++seed) {
    const StoreFolder torn;
    base::WriteFile(torn.file(), file);
    const int64_t bytes = Random(seed).Integer(0, std::ssize(log));
    base::WriteFile(torn.log(), std::string_view(log).substr(0, bytes));
    most = std::max(most, LastTransaction(torn.path()));
  }
  EXPECT_GT(most, 10);
  EXPECT_LE(most, last + 1);
}

TEST(EmbeddedStoreFaultsTest, OfADamagedLogNothingIsLostSilently) {
  const StoreFolder written;
  WriteAndKill(written.path(), 30);
  const std::string file = base::ReadFile(written.file());
  const std::string log = base::ReadFile(written.log());
  const int64_t last = LastTransaction(written.path());
  int found = 0;
  for (int seed = 0; seed < 60; ++seed) {
    base::Generator random = Random(seed);
    const int64_t place =
        random.Integer(0, seed % 4 == 0 ? int64_t{60} : std::ssize(log));
    std::string bad = log;
    bad[place] = static_cast<char>(bad[place] ^ (1 << random.Integer(0, 8)));
    const StoreFolder damaged;
    base::WriteFile(damaged.file(), file);
    base::WriteFile(damaged.log(), bad);
    const auto store = EmbeddedStore::Open(damaged.path());
    if (store.ok()) {  // In the last transaction: it may be one that was cut short.
      EXPECT_GE(LastTransaction((*store)->Load().value()), last - 1) << "seed " << seed;
      continue;
    }
    ++found;
    EXPECT_THAT(store, StatusIs(absl::StatusCode::kDataLoss,
                                HasSubstr("metadata is damaged: " + damaged.log())));
    EXPECT_EQ(base::ReadFile(damaged.log()), bad) << "it is left for who can mend it";
  }
  EXPECT_GT(found, 30);
}

// --- A full disk ---

// Writes until there is no more space, then has `make_space` run, and goes on.
void FillAndGoOn(const std::string& folder, absl::FunctionRef<void()> make_space) {
  const auto store = EmbeddedStore::Open(folder).value();
  int64_t number = 1;
  absl::Status status;
  while ((status = store->Append(Transaction(number))).ok()) ++number;
  CHECK(absl::IsResourceExhausted(status)) << status;
  CHECK(absl::StrContains(status.message(), "no space for metadata: ")) << status;
  CHECK(absl::StrContains(status.message(), folder)) << status;
  CHECK_GT(number, 10);
  CHECK_EQ(LastTransaction(store->Load().value()), number - 1);
  CHECK(!store->Append(Transaction(number)).ok());
  make_space();
  for (int i = 0; i < 20; ++i) CHECK(store->Append(Transaction(number++)).ok());
  CHECK_EQ(LastTransaction(store->Load().value()), number - 1);
  CHECK(store->Snapshot(base::StrCat(number - 1)).ok());
  CHECK(store->Append(Transaction(number)).ok());
}

TEST(EmbeddedStoreFaultsTest, AFileThatMayNotGrowIsSpaceToBeMade) {
  const StoreFolder folder;
  signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  FillAndGoOn(folder.path(), [&] { CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0); });
  EXPECT_GT(LastTransaction(folder.path()), 30);
}

// Mounts a small disk that this process alone sees; says whether it may.
bool MountSmallDisk(const std::string& folder) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  return mount("none", folder.c_str(), "tmpfs", 0, "size=2m") == 0;
}

// In a process of its own, which sees a small disk where others see a folder.
TEST(EmbeddedStoreFaultsTest, AFullDiskIsSpaceToBeMade) {
  const StoreFolder folder;
  Child child([&](const Teller& teller) {
    if (!MountSmallDisk(folder.path())) return teller.Tell("may not mount");
    const std::string ballast = base::StrCat(folder.path(), "/ballast");
    base::WriteFile(ballast, std::string(1 << 20, 'x'));
    FillAndGoOn(folder.path(), [&] { std::filesystem::remove(ballast); });
    teller.Tell("done");
  });
  const auto told = child.Next();
  if (told == "may not mount") GTEST_SKIP() << "this user may not mount a small disk";
  EXPECT_EQ(told, "done");
}

// --- A long life ---

TEST(EmbeddedStoreFaultsTest, FilesAndMemoryStayFlatOverAMillionEvents) {
  const StoreFolder folder;
  const auto store = EmbeddedStore::Open(folder.path()).value();
  const std::vector<std::string> events(10'000, std::string(60, 'e'));
  const auto bytes_on_disk = [&] {
    return std::filesystem::file_size(folder.file()) +
           std::filesystem::file_size(folder.log());
  };
  std::optional<uintmax_t> disk_after_first;
  std::optional<sqlite3_int64> memory_after_first;
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(store->Append(events), IsOk());
    ASSERT_THAT(store->PutObject(base::StrCat(i), std::string(10'000, 'o')), IsOk());
    if (i % 5 != 4) continue;
    ASSERT_THAT(store->Snapshot(std::string(60'000, 's')), IsOk());
    ASSERT_THAT(store->DropObjectsExcept({base::StrCat(i)}), IsOk());
    if (!disk_after_first) disk_after_first = bytes_on_disk();
    if (!memory_after_first) memory_after_first = sqlite3_memory_used();
  }
  EXPECT_LE(bytes_on_disk(), *disk_after_first * 3 / 2);
  EXPECT_LE(sqlite3_memory_used(), *memory_after_first * 3 / 2);
}

}  // namespace
}  // namespace millrace::metadata
