// The interpreter's lock, let go of and taken again. A thread that asks for the lock of
// an interpreter that is ending is ended by CPython where it stands (until 3.13), and
// C++ aborts the process when its frames are unwound that way: a daemon thread that
// reads batches while the program ends would turn success into a crash. Here such a
// thread waits for the process to end, as CPython 3.14 has it.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace millrace::binding {

// True when nobody but the thread that ends the interpreter gets its lock any more.
inline bool InterpreterEnds() { return Py_IsInitialized() == 0; }

// Calls what takes the lock.
template <typename Take>
auto TakeLock(const Take& take) {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    while (true) pause();  // Leaving this handler would abort.
  }
}

// While it lives, this thread has not the lock, which it had.
class WithoutLock {
 public:
  WithoutLock() : thread_(PyEval_SaveThread()) {}

  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

  ~WithoutLock() {
    TakeLock([&] { PyEval_RestoreThread(thread_); });
  }

 private:
  PyThreadState* const thread_;
};

// While it lives, this thread has the lock, whether it had it before or not.
class WithLock {
 public:
  WithLock() : before_(TakeLock([] { return PyGILState_Ensure(); })) {}

  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

  ~WithLock() { PyGILState_Release(before_); }

 private:
  const PyGILState_STATE before_;
};

// Of a method that may wait: it runs without the lock.
using Unlocked = nanobind::call_guard<WithoutLock>;

}  // namespace millrace::binding
