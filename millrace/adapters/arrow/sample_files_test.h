// For tests: the sample files (tools/arrow_samples.py), sources that read them, and
// stores of files that are in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/operators.h"
#include "millrace/base/golden_file.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {

inline std::string Sample(std::string_view name) {
  return base::SourcePath(base::StrCat("millrace/adapters/arrow/testdata/", name));
}

inline const ops::Library& LibraryWithArrow() {
  static const ops::Library& library = *[] {
    auto* made = new ops::Library(ops::Library::BuiltIn());
    AddOperators(*made);
    return made;
  }();
  return library;
}

// read_parquet(paths=["..."], more) for a sample, or read_arrow.
inline std::string CallFor(std::string_view path, std::string_view more = "") {
  return base::StrCat(path.ends_with(".parquet") ? "read_parquet" : "read_arrow",
                      "(paths=[\"", path, "\"]", more, ")");
}

inline absl::StatusOr<ir::Pipeline> ParseCall(std::string_view call) {
  return ir::Parse(base::StrCat("%0 = ", call), {}, LibraryWithArrow().catalog());
}

inline absl::StatusOr<std::unique_ptr<ops::Source>> MakeSource(
    std::string_view call,
    const ops::SourceContext& context = {.pool = core::HeapPool()}) {
  return LibraryWithArrow().MakeSource(TRY(ParseCall(call)), context);
}

// Reads all splits.
inline absl::StatusOr<core::Block> ReadSource(
    ops::Source& source, ops::BadRows& bad_rows = ops::NoBadRows()) {
  const lanes::Manifest manifest = TRY(source.List());
  TRY(lanes::Check(manifest));
  std::vector<core::Block> blocks;
  for (int64_t i = 0; i < std::ssize(manifest.splits); ++i) {
    for (core::Block& block :
         TRY(ops::ReadAll(source, {i, 0, *manifest.splits[i].rows}, bad_rows))) {
      if (block.rows() > 0) blocks.push_back(std::move(block));
    }
  }
  if (blocks.empty()) return core::Block();
  return core::Concatenate(blocks, core::HeapPool());
}

inline absl::StatusOr<core::Block> ReadCall(std::string_view call,
                                            ops::BadRows& bad_rows = ops::NoBadRows()) {
  const std::unique_ptr<ops::Source> source = TRY(MakeSource(call));
  return ReadSource(*source, bad_rows);
}

}  // namespace millrace::arrow
