#include "millrace/adapters/python/shared_arenas.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"

#include "millrace/adapters/python/plain.h"

namespace millrace::python {
namespace {

// The file is mapped in pieces of this size: a process may have only so many mappings.
constexpr size_t kPieceBytes = size_t{64} << 20;
constexpr uint64_t kPresent = uint64_t{1} << 63;  // In /proc/self/pagemap.
constexpr uint64_t kOfFile = uint64_t{1} << 61;
constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ; Linux has it from 5.14 on.

void* MapPlain(size_t bytes) {
  void* const found =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return found == MAP_FAILED ? nullptr : found;
}

// The folder has one link for each thread, and two of its own.
bool HasOneThread() {
  struct stat facts = {};
  return stat("/proc/self/task", &facts) == 0 && facts.st_nlink == 3;
}

// One pass over arenas. Signals wait meanwhile: a handler could write, too.
class Sweep {
 public:
  Sweep(int pagemap, const std::byte* originals)
      : pagemap_(pagemap), originals_(originals), page_bytes_(sysconf(_SC_PAGESIZE)) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }

  ~Sweep() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  void Visit(std::byte* arena, size_t bytes, int64_t offset) {
    if (!ReadEntries(arena, bytes)) return;
    std::byte* begin = arena;  // Of the pages that can all go.
    size_t equal = 0;
    for (size_t page = 0; page < entries_.size(); ++page) {
      const bool is_copy = (entries_[page] & (kPresent | kOfFile)) == kPresent;
      if (!is_copy) continue;
      copied_ += page_bytes_;
      const size_t at = page * page_bytes_;
      if (std::memcmp(arena + at, originals_ + offset + at, page_bytes_) == 0) {
        equal += page_bytes_;
        continue;
      }
      Drop(begin, arena + at, std::exchange(equal, 0));
      begin = arena + at + page_bytes_;
    }
    Drop(begin, arena + bytes, equal);
  }

  GivenBack given_back() const {
    return {.copied_bytes = static_cast<int64_t>(copied_),
            .bytes = static_cast<int64_t>(dropped_)};
  }

 private:
  bool ReadEntries(const std::byte* arena, size_t bytes) {
    entries_.resize(bytes / page_bytes_);
    const size_t wanted = entries_.size() * sizeof(uint64_t);
    const size_t first = reinterpret_cast<uintptr_t>(arena) / page_bytes_;
    return pread(pagemap_, entries_.data(), wanted,
                 static_cast<off_t>(first * sizeof(uint64_t))) ==
           static_cast<ssize_t>(wanted);
  }

  // Drops pages that are copies equal to their originals, or no copies at all.
  void Drop(std::byte* begin, std::byte* end, size_t copied) {
    if (copied == 0) return;
    if (madvise(begin, end - begin, MADV_DONTNEED) == 0) dropped_ += copied;
  }

  const int pagemap_;
  const std::byte* const originals_;
  const size_t page_bytes_;
  sigset_t before_ = {};
  std::vector<uint64_t> entries_;
  size_t copied_ = 0;
  size_t dropped_ = 0;
};

}  // namespace

SharedArenas::~SharedArenas() {
  if (originals_ != nullptr) munmap(originals_, file_bytes_);
  if (file_ >= 0) close(file_);
}

void* SharedArenas::Allocate(size_t bytes) {
  if (is_shared_ || (rest_bytes_ < bytes && !Grow(bytes))) return MapPlain(bytes);
  std::byte* const arena = rest_;
  const int64_t offset = file_bytes_ - static_cast<int64_t>(rest_bytes_);
  rest_ += bytes;
  rest_bytes_ -= bytes;
  arenas_[arena] = {.bytes = bytes, .offset = offset};
  return arena;
}

void SharedArenas::Free(void* arena, size_t bytes) {
  const auto found = arenas_.find(static_cast<std::byte*>(arena));
  if (found != arenas_.end()) {
    if (!is_shared_) {
      fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, found->second.offset,
                static_cast<off_t>(bytes));
    }
    arenas_.erase(found);
  }
  munmap(arena, bytes);
}

int64_t SharedArenas::Share() {
  if (is_shared_) return shared_bytes_;
  is_shared_ = true;
  DropRest();
  for (const auto& [address, arena] : arenas_) {
    if (mmap(address, arena.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
             file_, arena.offset) == MAP_FAILED) {
      const absl::Status failed = absl::ErrnoToStatus(
          errno, "the dataset's memory cannot be shared by workers");
      throw Error("RESOURCE_EXHAUSTED", std::string(failed.message()));
    }
    // Else the pages would be held by the file, but counted as no process's.
    madvise(address, arena.bytes, kPopulateRead);
    shared_bytes_ += static_cast<int64_t>(arena.bytes);
  }
  return shared_bytes_;
}

GivenBack SharedArenas::GiveBack() {
  if (!is_shared_ || arenas_.empty() || !HasOneThread() || !MapOriginals()) return {};
  const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) return {};
  const absl::Cleanup close_it = [&] { close(pagemap); };
  Sweep sweep(pagemap, originals_);
  for (const auto& [address, arena] : arenas_) {
    sweep.Visit(address, arena.bytes, arena.offset);
  }
  return sweep.given_back();
}

bool SharedArenas::Grow(size_t bytes) {
  if (file_ < 0) file_ = memfd_create("millrace-objects", MFD_CLOEXEC);
  if (file_ < 0) return false;
  const size_t piece = std::max(bytes, kPieceBytes);
  const int64_t grown = file_bytes_ + static_cast<int64_t>(piece);
  if (ftruncate(file_, grown) != 0) return false;
  void* const found =
      mmap(nullptr, piece, PROT_READ | PROT_WRITE, MAP_SHARED, file_, file_bytes_);
  if (found == MAP_FAILED) return false;
  DropRest();
  rest_ = static_cast<std::byte*>(found);
  rest_bytes_ = piece;
  file_bytes_ = grown;
  return true;
}

bool SharedArenas::MapOriginals() {
  if (originals_ != nullptr) return true;
  void* const found = mmap(nullptr, file_bytes_, PROT_READ, MAP_SHARED, file_, 0);
  if (found == MAP_FAILED) return false;
  originals_ = static_cast<std::byte*>(found);
  return true;
}

void SharedArenas::DropRest() {
  if (rest_bytes_ > 0) munmap(std::exchange(rest_, nullptr), rest_bytes_);
  rest_bytes_ = 0;
}

}  // namespace millrace::python
