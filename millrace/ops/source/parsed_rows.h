// Makes blocks of rows that were found and whose texts are to be parsed, where other
// rows are copied as they are (found_rows.h).
#pragma once

#include "absl/status/status.h"

#include "millrace/ops/source.h"
#include "millrace/ops/source/found_rows.h"

namespace millrace::ops {

// Parses rows into blocks. Those that are wrong are told where they stand between the
// others, with `WrongRow`. Requires: the plan makes a parser; every row is one text.
absl::Status GiveParsed(const FoundRows& found, const RowsPlan& plan,
                        const SourceContext& context, RowsSink& sink);

}  // namespace millrace::ops
