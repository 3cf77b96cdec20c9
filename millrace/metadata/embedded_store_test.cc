// What an embedded store has for itself: its file, who may have it, and what it says
// of files that are not as it left them. embedded_store_faults_test.cc has what may
// happen while it writes.

#include "millrace/metadata/embedded_store.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/metadata/child_test.h"
#include "millrace/metadata/folder_test.h"
#include "millrace/metadata/metadata_store.h"
#include "millrace/metadata/sqlite.h"

namespace millrace::metadata {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

absl::Status OpenStatus(const std::string& folder) {
  return EmbeddedStore::Open(folder).status();
}

// --- One process at a time ---

void OpenAndStay(const std::string& folder, const Teller& teller) {
  const auto store = EmbeddedStore::Open(folder);
  teller.Tell(store.ok() ? "open" : std::string(store.status().message()));
  Teller::Stay();
}

TEST(EmbeddedStoreTest, WhoComesSecondIsToldWhoHasIt) {
  const StoreFolder folder;
  Child first([&](const Teller& teller) { OpenAndStay(folder.path(), teller); });
  ASSERT_EQ(first.Next(), "open");
  EXPECT_THAT(
      OpenStatus(folder.path()),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("metadata is in use: " + folder.file()),
                     HasSubstr(base::StrCat("held by process ", first.process(), " (")),
                     HasSubstr("a folder of its own"))));
  first.Kill();
  EXPECT_THAT(OpenStatus(folder.path()), IsOk());
}

TEST(EmbeddedStoreTest, OneProcessCannotHaveItTwiceAndKeepsItWhenItTries) {
  const StoreFolder folder;
  const auto store = EmbeddedStore::Open(folder.path()).value();
  EXPECT_THAT(OpenStatus(folder.path()), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                  HasSubstr("held by this process")));
  Child other([&](const Teller& teller) { OpenAndStay(folder.path(), teller); });
  EXPECT_THAT(other.Next().value_or(""),
              HasSubstr(base::StrCat("held by process ", getpid())));
  EXPECT_THAT(store->Append({"1"}), IsOk());
}

TEST(EmbeddedStoreTest, OfSomeThatComeAtTheSameTimeOneGetsIt) {
  for (int round = 0; round < 15; ++round) {
    const StoreFolder folder;
    std::array<int, 2> gate = {};  // Opens for all when its writing end is closed.
    ASSERT_EQ(pipe(gate.data()), 0);
    const auto race = [&](const Teller& teller) {
      close(gate[1]);
      char nothing = 0;
      CHECK_EQ(read(gate[0], &nothing, 1), 0);
      OpenAndStay(folder.path(), teller);
    };
    std::vector<std::unique_ptr<Child>> racers;
    racers.reserve(3);
    for (int i = 0; i < 3; ++i) racers.push_back(std::make_unique<Child>(race));
    close(gate[1]);
    int winners = 0;
    for (const auto& racer : racers) winners += racer->Next() == "open" ? 1 : 0;
    close(gate[0]);
    EXPECT_EQ(winners, 1) << "in round " << round;
  }
}

// --- Its folder ---

TEST(EmbeddedStoreTest, AFolderThatIsMissingOrAFileIsNamedWithTheRemedy) {
  const StoreFolder folder;
  const std::string missing = base::StrCat(folder.path(), "/missing");
  const auto is_named =
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr(missing + "/metadata.sqlite"), HasSubstr("mkdir -p")));
  EXPECT_THAT(OpenStatus(missing), is_named);
  base::WriteFile(missing, "a file");
  EXPECT_THAT(OpenStatus(missing), is_named);
}

// Nobody may do less than the user who runs the tests; root may do everything.
class AsNobody {
 public:
  AsNobody() {
    if (user_ == 0) CHECK_EQ(seteuid(65534), 0);
  }

  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

  ~AsNobody() {
    if (user_ == 0) CHECK_EQ(seteuid(0), 0);
  }

 private:
  const uid_t user_ = geteuid();
};

TEST(EmbeddedStoreTest, WhatMayNotBeWrittenIsNamedWithTheRemedy) {
  const auto is_refused = [](const std::string& path) {
    return StatusIs(
        absl::StatusCode::kPermissionDenied,
        AllOf(HasSubstr(path), HasSubstr("run as a user who may write there")));
  };
  const StoreFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  {
    const AsNobody nobody;
    EXPECT_THAT(OpenStatus(folder.path()), is_refused(folder.file()));
  }
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_THAT(OpenStatus(folder.path()), IsOk());
  ASSERT_EQ(chmod(folder.file().c_str(), 0444), 0);
  {  // The file can be read, and no more.
    const AsNobody nobody;
    EXPECT_THAT(OpenStatus(folder.path()), is_refused(folder.file()));
  }
  ASSERT_EQ(chmod(folder.file().c_str(), 0666), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  {  // The file can be written, and no log beside it.
    const AsNobody nobody;
    EXPECT_THAT(OpenStatus(folder.path()), is_refused(folder.file()));
  }
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
}

TEST(EmbeddedStoreTest, OddNamesOfFoldersAreNames) {
  const StoreFolder folder;
  const std::string before = std::filesystem::current_path().string();
  const absl::Cleanup back = [&] { std::filesystem::current_path(before); };
  std::filesystem::current_path(folder.path());
  for (const std::string name : {"file:a?mode=memory", "it's 100%", ":memory:"}) {
    std::filesystem::create_directory(name);
    EXPECT_THAT(OpenStatus(name), IsOk()) << name;
    EXPECT_TRUE(std::filesystem::exists(name + "/metadata.sqlite")) << name;
  }
}

TEST(EmbeddedStoreTest, OneFileIsLeftBehind) {
  const StoreFolder folder;
  {
    const auto store = EmbeddedStore::Open(folder.path()).value();
    EXPECT_THAT(store->Append({"1"}), IsOk());
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_TRUE(std::filesystem::exists(folder.file()));
}

// --- Files that are not as it left them ---

TEST(EmbeddedStoreTest, FilesOfOthersAreRefusedAndStay) {
  const StoreFolder folder;
  const std::string text = "shopping list\n" + std::string(10'000, 'x');
  base::WriteFile(folder.file(), text);
  EXPECT_THAT(OpenStatus(folder.path()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(folder.file()), HasSubstr("not a database"),
                             HasSubstr("put back a copy"))));
  EXPECT_EQ(base::ReadFile(folder.file()), text);
  std::filesystem::remove(folder.file());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE t (x)", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(other);
  const std::string bytes = base::ReadFile(folder.file());
  EXPECT_THAT(OpenStatus(folder.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("not a metadata file: " + folder.file()),
                             HasSubstr("a folder of its own"))));
  EXPECT_EQ(base::ReadFile(folder.file()), bytes);
}

TEST(EmbeddedStoreTest, AFileOfANewerVersionIsRefusedAndStays) {
  const StoreFolder folder;
  ASSERT_THAT(OpenStatus(folder.path()), IsOk());
  ASSERT_THAT(Connection::Open(folder.file()).value()->Run("PRAGMA user_version = 2"),
              IsOk());
  const std::string bytes = base::ReadFile(folder.file());
  EXPECT_THAT(OpenStatus(folder.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(folder.file() + " has version 2"),
                             HasSubstr("knows 1; use the Millrace that wrote it"))));
  EXPECT_EQ(base::ReadFile(folder.file()), bytes);
}

TEST(EmbeddedStoreTest, AnEmptyOrVanishedFileIsNotTakenForANewOne) {
  const StoreFolder folder;
  base::WriteFile(folder.file(), "");
  EXPECT_THAT(OpenStatus(folder.path()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(folder.file() + ": the file has 0 bytes")));
  std::filesystem::remove(folder.file());
  base::WriteFile(folder.log(), "a log");
  EXPECT_THAT(OpenStatus(folder.path()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the file is gone")));
}

constexpr int kObjects = 5;

std::string Item(std::string_view kind, int number) {
  return base::StrCat(kind, " ", number, std::string(300, 'a'));
}

// Some of everything, over many pages, with pages that are free again.
std::string FilledFile() {
  const StoreFolder folder;
  auto store = EmbeddedStore::Open(folder.path()).value();
  CHECK(store->Append(std::vector<std::string>(100, "old")).ok());
  CHECK(store->Snapshot(Item("snapshot", 1)).ok());
  std::vector<std::string> events;
  events.reserve(100);
  for (int i = 0; i < 100; ++i) events.push_back(Item("event", i));
  CHECK(store->Append(events).ok());
  for (int i = 0; i < kObjects; ++i) {
    CHECK(store->PutObject(base::StrCat("hash", i), Item("object", i)).ok());
  }
  store.reset();  // The log is in the file now.
  return base::ReadFile(folder.file());
}

// OK when all is there as it was.
absl::Status CheckFilled(const std::string& folder) {
  const auto store = TRY(EmbeddedStore::Open(folder));
  const MetadataStore::Kept kept = TRY(store->Load());
  CHECK_EQ(kept.snapshot, Item("snapshot", 1));
  CHECK_EQ(kept.events.size(), 100);
  for (int i = 0; i < 100; ++i) CHECK_EQ(kept.events[i], Item("event", i));
  for (int i = 0; i < kObjects; ++i) {
    const std::string object = TRY(store->GetObject(base::StrCat("hash", i)));
    CHECK_EQ(object, Item("object", i));
  }
  return absl::OkStatus();
}

TEST(EmbeddedStoreTest, FlippedBitsAreAnErrorOrDoNotMatter) {
  const std::string good = FilledFile();
  int found = 0;
  constexpr int kSeeds = 250;
  for (int seed = 0; seed < kSeeds; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), base::Hash128{});
    // Every other one in the header and the schema, where little things mean much.
    const int64_t end = seed % 2 == 0 ? 200 : std::ssize(good);
    const int64_t place = random.Integer(0, end);
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ (1 << random.Integer(0, 8)));
    const StoreFolder folder;
    base::WriteFile(folder.file(), bad);
    const absl::Status status = CheckFilled(folder.path());
    found += status.ok() ? 0 : 1;
    if (status.ok() || absl::IsNotFound(status)) continue;
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder.file()))
        << "bit flipped in byte " << place << ", seed " << seed;
  }
  EXPECT_GT(found, kSeeds / 4);
}

TEST(EmbeddedStoreTest, AFileThatWasCutShortIsAnError) {
  const std::string good = FilledFile();
  for (size_t bytes = 1; bytes < good.size(); bytes += 1 + bytes / 8) {
    const StoreFolder folder;
    base::WriteFile(folder.file(), std::string_view(good).substr(0, bytes));
    EXPECT_THAT(CheckFilled(folder.path()),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("metadata is damaged: " + folder.file()),
                               HasSubstr("put back a copy of its folder"))))
        << bytes << " bytes of " << good.size();
  }
}

}  // namespace
}  // namespace millrace::metadata
