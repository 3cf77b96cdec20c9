// What an engine does: a pass, or one lane by itself. It has no lock of its own: the
// engine's guards all of it, but for the running of tasks.
#pragma once

#include <cstdint>
#include <functional>

#include "millrace/base/mutex.h"
#include "millrace/exec/stage_run.h"

namespace millrace::exec {

// Which of several works comes first.
struct Urgency {
  bool needed = true;  // Somebody waits for what comes of it; else it is made ahead.
  int64_t served = 0;  // What it was given; it only grows.
};

class EngineWork {
 public:
  virtual ~EngineWork() = default;

  // Takes up work, nearest to the consumer first; false when there is none now.
  // `first`: this is being delivered.
  virtual bool Claim(bool first, Task& task) = 0;
  virtual bool ClaimFetch(bool first, Task& task) = 0;
  virtual void Complete(Task task) = 0;

  // Tells whether a claim might be granted: sometimes says so where it would not be,
  // never the other way round.
  virtual bool HasWork() const = 0;
  virtual bool HasFetch() const = 0;

  // Gives up: no more work is claimed.
  virtual void Stop() = 0;

  // Tasks that are being run; none may be when it is destroyed.
  virtual int running() const = 0;

  // Whether its consumer would get an answer: a block, the end, or an error.
  virtual bool ready() const = 0;

  virtual Urgency urgency() const = 0;

  // Signalled when it became ready, or its last running task ended.
  virtual base::CondVar& changed() = 0;

  // What is to be called, without the lock, now that it is ready; null: nobody asked.
  // Between this and EndCall it may not be destroyed.
  virtual const std::function<void()>* BeginCall() { return nullptr; }

  virtual void EndCall() {}
};

}  // namespace millrace::exec
