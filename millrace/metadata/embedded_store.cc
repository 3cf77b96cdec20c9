#include "millrace/metadata/embedded_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/metadata/lock_holder.h"
#include "millrace/metadata/log_check.h"
#include "millrace/metadata/metadata_store.h"
#include "millrace/metadata/sqlite.h"
#include "millrace/metadata/whole_file.h"

namespace millrace::metadata {
namespace {

constexpr int64_t kApplication = 0x4d725374;  // "MrSt": tells our files from others'.
constexpr int64_t kSchemaVersion = 1;

// Which item a sum is of: an item that lies where another belongs is found out.
constexpr std::string_view kEvent = "event";
constexpr std::string_view kSnapshot = "snapshot";

// Eight bytes of a digest: enough to notice damage.
int64_t SumOf(std::string_view kind, int64_t number, std::string_view bytes) {
  const base::Sha256 digest = base::Sha256Hasher()
                                  .Update(kind)
                                  .UpdateNumber(static_cast<uint64_t>(number))
                                  .Update(bytes)
                                  .Finish();
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof(sum); ++i) sum = sum << 8 | digest.bytes[i];
  return static_cast<int64_t>(sum);
}

std::string LogOf(std::string_view path) { return base::StrCat(path, "-wal"); }

// --- Making the file ---

absl::StatusOr<std::string> EmptyFile() {
  const std::unique_ptr<Connection> memory = TRY(Connection::Open(""));
  TRY(memory->Run(base::StrCat("PRAGMA application_id = ", kApplication)));
  TRY(memory->Run(base::StrCat("PRAGMA user_version = ", kSchemaVersion)));
  TRY(memory->Run(
      "CREATE TABLE events (number INTEGER PRIMARY KEY, sum INTEGER NOT NULL,"
      "                     bytes BLOB NOT NULL);"
      "CREATE TABLE snapshot (number INTEGER PRIMARY KEY, sum INTEGER NOT NULL,"
      "                       bytes BLOB NOT NULL);"
      "CREATE TABLE objects (hash TEXT PRIMARY KEY, sum INTEGER NOT NULL,"
      "                      bytes BLOB NOT NULL);"));
  std::string file = TRY(memory->AsFile());
  // By these two a file has a write-ahead log, from the first time it is opened.
  constexpr size_t kWriteVersion = 18;
  constexpr size_t kReadVersion = 19;
  CHECK_GT(file.size(), kReadVersion);
  file[kWriteVersion] = 2;
  file[kReadVersion] = 2;
  return file;
}

absl::Status MakeWhereMissing(const std::string& path) {
  constexpr uintmax_t kBytesMin = 4096;  // A page.
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes >= kBytesMin) return absl::OkStatus();
  // The file is made whole: such a one was not left by us, and is not taken for new.
  if (!error) return Damaged(base::StrCat(path, ": the file has ", bytes, " bytes"));
  const std::string log = LogOf(path);
  std::error_code unknown;
  if (std::filesystem::exists(log, unknown)) {
    return Damaged(base::StrCat(path, ": the file is gone, while ", log, " is there"));
  }
  return MakeWholeFile(path, TRY(EmptyFile()));
}

// --- Opening it ---

absl::Status CheckKind(const Connection& file) {
  const int64_t application = TRY(file.Number("PRAGMA application_id"));
  if (application != kApplication) {
    return absl::FailedPreconditionError(
        base::StrCat("not a metadata file: ", file.path(),
                     " is of another program; give a folder of its own"));
  }
  const int64_t version = TRY(file.Number("PRAGMA user_version"));
  if (version == kSchemaVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      base::StrCat("metadata of another version: ", file.path(), " has version ",
                   version, ", this Millrace knows ", kSchemaVersion,
                   "; use the Millrace that wrote it, or another folder"));
}

absl::StatusOr<std::unique_ptr<Connection>> Connect(const std::string& path) {
  std::unique_ptr<Connection> file = TRY(Connection::Open(path));
  // The lock is taken at the first reading, and kept.
  TRY(file->Run("PRAGMA locking_mode = EXCLUSIVE"));
  TRY(CheckKind(*file));
  TRY(CheckLog(LogOf(path)));
  file->Trust();
  TRY(file->Run("PRAGMA journal_mode = WAL"));
  // The log is written to the disk with every transaction.
  TRY(file->Run("PRAGMA synchronous = FULL"));
  // A log that a large transaction has made long is cut again.
  TRY(file->Run("PRAGMA journal_size_limit = 16777216"));
  TRY(file->Run("PRAGMA cell_size_check = ON"));
  TRY(file->Run("PRAGMA trusted_schema = OFF"));
  TRY(file->Run("PRAGMA secure_delete = OFF"));  // Zeros would be written twice.
  return file;
}

absl::Status InUse(const std::string& path) {
  return absl::FailedPreconditionError(
      base::StrCat("metadata is in use: ", path, " is held by ", LockHolder(path),
                   "; stop that, or give this one a folder of its own"));
}

// Two that come at the same time can refuse each other; both let go and try again.
absl::StatusOr<std::unique_ptr<Connection>> ConnectAgain(const std::string& path) {
  constexpr int kAttempts = 20;
  for (int i = 0; i < kAttempts; ++i) {
    auto file = Connect(path);
    if (!absl::IsAborted(file.status())) return file;
  }
  return InUse(path);
}

}  // namespace

EmbeddedStore::EmbeddedStore(std::unique_ptr<Connection> file, Statement insert_event,
                             int64_t last_event)
    : file_(std::move(file)),
      insert_event_(std::move(insert_event)),
      last_event_(last_event) {}

absl::StatusOr<std::unique_ptr<EmbeddedStore>> EmbeddedStore::Open(
    const std::string& folder) {
  std::error_code error;
  // Absolute, so that messages name it fully and no name is taken for an address.
  const std::string path =
      (std::filesystem::absolute(folder, error) / "metadata.sqlite").string();
  TRY(MakeWhereMissing(path));
  std::unique_ptr<Connection> file = TRY(ConnectAgain(path));
  const int64_t last_event =
      std::max(TRY(file->Number("SELECT max(number) FROM events")),
               TRY(file->Number("SELECT max(number) FROM snapshot")));
  Statement insert_event =
      TRY(file->Prepare("INSERT INTO events (number, sum, bytes) VALUES (?, ?, ?)"));
  return std::unique_ptr<EmbeddedStore>(
      new EmbeddedStore(std::move(file), std::move(insert_event), last_event));
}

absl::StatusOr<MetadataStore::Kept> EmbeddedStore::Load() {
  Kept kept;
  int64_t last_forgotten = 0;
  Statement select = TRY(file_->Prepare("SELECT number, sum, bytes FROM snapshot"));
  if (TRY(select.Step())) {
    last_forgotten = select.Number(0);
    kept.snapshot = select.Bytes(2);
    if (select.Number(1) != SumOf(kSnapshot, last_forgotten, kept.snapshot)) {
      return Damaged(base::StrCat(file_->path(), ": the snapshot"));
    }
  }
  TRY(LoadEvents(last_forgotten + 1, kept));
  return kept;
}

absl::Status EmbeddedStore::LoadEvents(int64_t first, Kept& kept) const {
  Statement select =
      TRY(file_->Prepare("SELECT number, sum, bytes FROM events ORDER BY number"));
  for (int64_t number = first; TRY(select.Step()); ++number) {
    const std::string_view bytes = select.Bytes(2);
    if (select.Number(0) != number ||
        select.Number(1) != SumOf(kEvent, number, bytes)) {
      return Damaged(base::StrCat(file_->path(), ": event ", number));
    }
    kept.events.emplace_back(bytes);
  }
  return absl::OkStatus();
}

absl::Status EmbeddedStore::Append(absl::Span<const std::string> events) {
  for (const std::string& event : events) TRY(CheckItemSize("an event", event));
  if (events.empty()) return absl::OkStatus();
  int64_t number = last_event_;
  TRY(file_->InTransaction([&]() -> absl::Status {
    for (const std::string& event : events) {
      ++number;
      TRY(insert_event_.BindNumber(1, number)
              .BindNumber(2, SumOf(kEvent, number, event))
              .BindBytes(3, event)
              .Run());
    }
    return absl::OkStatus();
  }));
  last_event_ = number;
  return absl::OkStatus();
}

absl::Status EmbeddedStore::Snapshot(std::string_view snapshot) {
  TRY(CheckItemSize("a snapshot", snapshot));
  Statement insert =
      TRY(file_->Prepare("INSERT INTO snapshot (number, sum, bytes) VALUES (?, ?, ?)"));
  insert.BindNumber(1, last_event_)
      .BindNumber(2, SumOf(kSnapshot, last_event_, snapshot))
      .BindBytes(3, snapshot);
  return file_->InTransaction([&]() -> absl::Status {
    TRY(file_->Run("DELETE FROM events"));
    TRY(file_->Run("DELETE FROM snapshot"));
    return insert.Run();
  });
}

absl::Status EmbeddedStore::PutObject(std::string_view hash, std::string_view bytes) {
  TRY(CheckItemSize("an object", bytes));
  const absl::StatusOr<std::string> there = GetObject(hash);
  if (there.ok()) return *there == bytes ? absl::OkStatus() : OtherContent(hash);
  if (!absl::IsNotFound(there.status())) return there.status();
  Statement insert =
      TRY(file_->Prepare("INSERT INTO objects (hash, sum, bytes) VALUES (?, ?, ?)"));
  insert.BindText(1, hash).BindNumber(2, SumOf(hash, 0, bytes)).BindBytes(3, bytes);
  return file_->InTransaction([&] { return insert.Run(); });
}

absl::StatusOr<std::string> EmbeddedStore::GetObject(std::string_view hash) {
  Statement select =
      TRY(file_->Prepare("SELECT sum, bytes FROM objects WHERE hash = ?"));
  if (!TRY(select.BindText(1, hash).Step())) return NoSuchObject(hash);
  std::string bytes(select.Bytes(1));
  if (select.Number(0) != SumOf(hash, 0, bytes)) {
    return Damaged(base::StrCat(file_->path(), ": object ", hash));
  }
  return bytes;
}

absl::Status EmbeddedStore::DropObjectsExcept(absl::Span<const std::string> hashes) {
  const absl::flat_hash_set<std::string> wanted(hashes.begin(), hashes.end());
  std::vector<std::string> unwanted;
  Statement select = TRY(file_->Prepare("SELECT hash FROM objects"));
  while (TRY(select.Step())) {
    std::string hash(select.Bytes(0));
    if (!wanted.contains(hash)) unwanted.push_back(std::move(hash));
  }
  select.Reset();
  Statement remove = TRY(file_->Prepare("DELETE FROM objects WHERE hash = ?"));
  return file_->InTransaction([&]() -> absl::Status {
    for (const std::string& hash : unwanted) TRY(remove.BindText(1, hash).Run());
    return absl::OkStatus();
  });
}

}  // namespace millrace::metadata
