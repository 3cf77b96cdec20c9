// Rows that are JSON objects, one a text: their members become the fields of a block. A
// nested member is named by its path, "a.b". Single-threaded.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"

#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/row_parser.h"

namespace millrace::ops {

// Checks that rows can have such fields: every shape has a rank, and none lies in
// another.
absl::Status CheckJsonFields(const core::Spec& fields);

// Makes a parser for about so many rows. A field of texts takes strings, and of
// anything else its JSON; other fields take values of their type and shape alone.
// Members that are no field are passed over. Requires: CheckJsonFields.
std::unique_ptr<RowParser> MakeJsonRows(const core::Spec& fields, Missing missing,
                                        int64_t rows, core::Pool& pool);

}  // namespace millrace::ops
