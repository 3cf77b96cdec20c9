// How many rows a pipeline gives, as far as that is known without reading its data.
// Sources are listed, which tells the rows of files with an index or a footer, of rows
// of one length, and of whole files; operators say what becomes of that number.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

struct KnownRows {
  ir::Cardinality rows = ir::Cardinality::Unknown();
  std::string why_unknown = {};  // Who does not tell, and the remedy; else empty.
};

// Lists nothing where that would not tell: when no source is asked for its rows, or an
// operator does not know what becomes of them.
absl::StatusOr<KnownRows> RowsOf(const ir::Pipeline& pipeline,
                                 const ops::Library& library);

}  // namespace millrace::exec
