// Cache: computes what stands before it once, and keeps the rows for the passes that
// follow. A mark: whoever runs the pipeline decides what is kept and how much of it
// (exec/cache_source.h); the rows that come out are the same either way.

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"

namespace millrace::ops {
namespace {

struct CacheArgs {
  std::optional<std::string> path;
};

absl::StatusOr<core::Spec> InferCached(const CacheArgs& args, const core::Spec& in) {
  if (args.path && args.path->empty()) {
    return absl::InvalidArgumentError(
        "argument path is empty: give a folder, or leave it out to keep rows in "
        "memory");
  }
  return in;
}

}  // namespace

OperatorDef CacheDef() {
  return Define<ByLanes, CacheArgs>("cache")
      .Doc(
          "Keeps the rows that come to it, so that later passes need not compute them "
          "again: in memory, or in files. What stands before it gives the same rows, "
          "in the same order and with the same draws, in every pass; so put random "
          "augmentation and shuffles behind it. Rows are kept by chunks where all "
          "that stands before it works row by row, and as far as there is room: what "
          "finds none is computed again. Files of changed data or of another pipeline "
          "are never taken. It may be shared by pipelines that begin alike.")
      .Arg("path", &CacheArgs::path,
           "The folder to keep rows in, made where it is missing; by default they are "
           "kept in memory, for as long as the process lives.",
           Place())
      .Traits({.caches = true})
      .Infer(InferCached)
      .Count([](const CacheArgs&, const ir::Cardinality& in) { return in; });
}

}  // namespace millrace::ops
