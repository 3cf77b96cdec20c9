// The seed of an operator that takes the place of two. Each draws with the seed it was
// given; one operator has one seed.
#pragma once

#include <optional>

#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::rewrite {

// Gives the seed that serves both; nothing when they draw with different ones.
// Requires: both have an argument seed.
std::optional<ir::Value> SeedOfBoth(const ir::Pipeline& first,
                                    const ir::Pipeline& second);

}  // namespace millrace::rewrite
