// The source that the names of files tell, for whoever knows the files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/ops/define.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

// The arguments of `read`.
struct ReadArgs {
  std::vector<std::string> paths;
  std::optional<std::string> fields;
  std::vector<std::string> columns = {};
};

// Makes it. An error where no source reads such files, or these do not fit the
// arguments.
absl::StatusOr<std::unique_ptr<Source>> MakeRead(const ReadArgs& args,
                                                 const SourcesByEnding& sources,
                                                 const SourceContext& context);

}  // namespace millrace::ops
