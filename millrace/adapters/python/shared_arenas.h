// Memory for Python's small objects that forked processes share even after they have
// read them. Reading an object writes its reference count, there and back; the kernel
// copies the page for that, and the copy soon holds what the original does. Here the
// original is a page of a file without a name, so such a copy can be given back.
//
// Python asks for its small objects' memory in arenas. All calls come under the
// interpreter's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace millrace::python {

// What a process had copied for itself, and how much of that it gave back.
struct GivenBack {
  int64_t copied_bytes = 0;
  int64_t bytes = 0;
};

class SharedArenas {
 public:
  SharedArenas() = default;
  SharedArenas(const SharedArenas&) = delete;
  SharedArenas& operator=(const SharedArenas&) = delete;
  // Unmaps nothing: what lies in the arenas may outlive this.
  ~SharedArenas();

  // In the file until `Share`, in plain memory from then on; nullptr if there is none.
  // Requires: `bytes` are whole pages.
  void* Allocate(size_t bytes);

  // Takes also arenas that were mapped by others.
  void Free(void* arena, size_t bytes);

  // Ends the file: from now on, what this process and those forked from it write is
  // their own. Says how many bytes are shared; a second call only says that. Throws
  // Error; the process must not fork then, as its arenas are still one with the file.
  int64_t Share();

  // Gives back this process's copies of pages that hold what the original does. Does
  // nothing where other threads run: one could write to a page in between. Costs about
  // a microsecond for each copied page.
  GivenBack GiveBack();

 private:
  struct Arena {
    size_t bytes = 0;
    int64_t offset = 0;  // In the file.
  };

  bool Grow(size_t bytes);
  bool MapOriginals();
  void DropRest();

  int file_ = -1;
  int64_t file_bytes_ = 0;
  std::byte* originals_ = nullptr;  // The file, as it is.
  std::byte* rest_ = nullptr;       // Mapped, but not yet allocated.
  size_t rest_bytes_ = 0;
  bool is_shared_ = false;
  int64_t shared_bytes_ = 0;
  std::map<std::byte*, Arena> arenas_;  // Those in the file.
};

}  // namespace millrace::python
