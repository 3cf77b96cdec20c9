// Sources that need not list what was listed before, here or elsewhere.
#pragma once

#include "absl/status/status.h"

#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

class Recalls {
 public:
  virtual ~Recalls() = default;

  // Takes a listing instead of making one: the source then has these splits. An error
  // where they cannot be read as listed.
  virtual absl::Status Recall(const lanes::Manifest& listed) = 0;
};

// Has a source take up a listing. One that cannot lists anew, and what it finds must be
// the same. In place of List, once, before all else.
absl::Status Recall(Source& source, const lanes::Manifest& listed);

}  // namespace millrace::ops
