// The way out of C libraries that report errors by a callback that must not return
// (libjpeg, libpng): the only place in the project with setjmp. The body runs inside
// RunWithEscape; a callback within it calls EscapeFrom, and RunWithEscape returns
// false. One thread.
//
// What is jumped over is not destroyed: the body, and all it calls up to the library,
// holds no object with a destructor. Whatever owns memory stays outside of the body.
#pragma once

#include <csetjmp>

namespace millrace::kernels {

struct Escape {
  std::jmp_buf place;
  char message[256] = {};  // Why; filled by the callback. Holds libjpeg's longest.
};

// Ends the body from within. Requires: RunWithEscape is running with this.
[[noreturn]] inline void EscapeFrom(Escape& escape) {
  std::longjmp(escape.place, 1);  // NOLINT: see above.
}

// Runs a body, and tells whether it came to its end.
// Not inlined: a caller's variables must not live in registers that the jump restores.
template <typename Body>
[[gnu::noinline]] bool RunWithEscape(Escape& escape, const Body& body) {
  if (setjmp(escape.place) != 0) return false;  // NOLINT: see above.
  body();
  return true;
}

}  // namespace millrace::kernels
