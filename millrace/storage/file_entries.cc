#include "millrace/storage/file_entries.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/base/mutex.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/frame_file.h"
#include "millrace/storage/frame_run.h"
#include "millrace/storage/glob.h"

namespace millrace::storage {
class FileEntries::Writer final : public EntryWriter {
 public:
  Writer(FileEntries& entries, std::unique_ptr<BlobWriter> file, std::string path)
      : entries_(entries), file_(std::move(file)), path_(std::move(path)) {}

  absl::Status Append(const frames::Frame& frame) override {
    return file_.Append(frame);
  }

  // A loss of power leaves no entry, or one whose checksums do not fit.
  absl::Status Publish() override {
    TRY(file_.Publish(Sync::kLater));
    entries_.Add(path_);
    return absl::OkStatus();
  }

 private:
  FileEntries& entries_;
  FrameFileWriter file_;
  const std::string path_;
};

FileEntries::FileEntries(const BlobStore& store, std::string folder)
    : store_(store), folder_(std::move(folder)) {}

absl::Status FileEntries::Load(const base::Sha256& computation) {
  const std::string pattern =
      base::StrCat(Escape(folder_), "/", base::ToHex(computation), "/*.frames");
  const absl::StatusOr<std::vector<BlobInfo>> files = store_.List({pattern});
  if (absl::IsNotFound(files.status())) return absl::OkStatus();
  TRY(files.status());
  for (const BlobInfo& file : *files) Add(file.path);
  return absl::OkStatus();
}

std::string FileEntries::PathOf(const EntryKey& key) const {
  return base::StrCat(folder_, "/", base::ToHex(key.computation), "/",
                      base::ToHex(key.content), ".frames");
}

void FileEntries::Add(const std::string& path) {
  const base::MutexLock lock(&mutex_);
  there_.insert(path);
}

bool FileEntries::Has(const EntryKey& key) const {
  const std::string path = PathOf(key);
  const base::MutexLock lock(&mutex_);
  return there_.contains(path);
}

absl::StatusOr<std::unique_ptr<FrameRun>> FileEntries::Open(const EntryKey& key) const {
  const BlobInfo info = TRY(store_.Find(PathOf(key)));
  return FrameFile::Open(TRY(store_.Open(info)));
}

absl::StatusOr<std::unique_ptr<EntryWriter>> FileEntries::Create(const EntryKey& key) {
  std::string path = PathOf(key);
  std::unique_ptr<BlobWriter> file = TRY(store_.Create(path));
  return std::make_unique<Writer>(*this, std::move(file), std::move(path));
}

absl::Status FileEntries::Remove(const EntryKey& key) {
  const std::string path = PathOf(key);
  {
    const base::MutexLock lock(&mutex_);
    there_.erase(path);
  }
  return store_.Remove(path);
}

}  // namespace millrace::storage
