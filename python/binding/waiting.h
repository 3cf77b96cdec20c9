// Calls that may wait: without the interpreter's lock, and ended by Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "lock.h"

#include "millrace/adapters/python/plain.h"

namespace millrace::binding {

// Keeps an object for those who have not the interpreter's lock.
inline std::shared_ptr<const nanobind::object> Kept(nanobind::object object) {
  return {new nanobind::object(std::move(object)), [](const nanobind::object* kept) {
            if (InterpreterEnds()) return;  // It goes with all that is left.
            const WithLock lock;
            delete kept;
          }};
}

// Tells of a signal that came, Ctrl-C above all; what its handler raised stays raised.
inline bool WasInterrupted() {
  const WithLock lock;
  return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
}

// Does something without Python's lock; what Python has raised meanwhile goes first.
template <typename Action>
auto WithoutPython(const Action& action) {
  try {
    const WithoutLock without_lock;
    return action();
  } catch (const python::Error&) {
    if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
    throw;
  }
}

}  // namespace millrace::binding
