// Where a pass, or a lane by itself, runs: what it shares with all others.
#pragma once

#include "millrace/base/mutex.h"
#include "millrace/core/pool.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

struct PassPlace {
  const ops::Library& library;
  core::Pool& pool;
  const Memory& memory;
  Meters& meters;
  int threads = 1;
  base::CondVar* changed = nullptr;  // Of the pass that this one is nested in.
};

}  // namespace millrace::exec
