// What listing the sources of a pipeline found: a manifest for each. A job keeps it by
// its hash, so that whoever runs a part of the job later, or elsewhere, cuts the very
// same lanes. Plain values.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/sha256.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {

// Of every source, in the order of the pipeline's text form; nothing of one that is not
// read.
using Listing = std::vector<std::optional<Manifest>>;

// Names the content of all of them: what a state has as its manifest's hash.
base::Sha256 ContentHash(const Listing& listing);

// Checks that what is there is still what was listed; the error names the first split
// that is not. Versions may differ. Where the rows were not counted then, they need not
// be the same now.
absl::Status CheckSame(const Manifest& listed, const Manifest& found);

}  // namespace millrace::lanes
