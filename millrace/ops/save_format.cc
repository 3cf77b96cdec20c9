#include "millrace/ops/save_format.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"

#include "millrace/base/text.h"

namespace millrace::ops {

absl::StatusOr<const SaveFormat*> FindFormat(const SaveFormats& formats,
                                             const std::string& name) {
  const auto found = formats.find(name);
  if (found != formats.end()) return &found->second;
  std::vector<std::string> names;
  names.reserve(formats.size());
  for (const auto& [known, format] : formats) names.push_back(known);
  return absl::InvalidArgumentError(base::StrCat(
      "no format is called ", name, ": there are ", absl::StrJoin(names, ", ")));
}

}  // namespace millrace::ops
