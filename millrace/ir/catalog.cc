#include "millrace/ir/catalog.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/shown.h"

namespace millrace::ir {
namespace {

template <typename Map>
auto FindIn(const Map& map, std::string_view name, std::string_view what)
    -> absl::StatusOr<const typename Map::mapped_type*> {
  const auto found = map.find(name);
  if (found != map.end()) return &found->second;
  std::vector<std::string> names;
  names.reserve(map.size());
  for (const auto& [known, schema] : map) names.push_back(known);
  return absl::InvalidArgumentError(
      base::StrCat("there is no ", what, " ", Shown(name), Suggestion(name, names)));
}

}  // namespace

void Catalog::Add(OperatorSchema schema) {
  CHECK(schema.infer && schema.cardinality) << schema.name;
  const std::string name = schema.name;
  CHECK(operators_.emplace(name, std::move(schema)).second) << name;
}

void Catalog::Add(KernelSchema schema) {
  CHECK(schema.infer && schema.run) << schema.name;
  CHECK(!schema.promotes || !schema.operands.empty()) << schema.name;
  const std::string name = schema.name;
  CHECK(kernels_.emplace(name, std::move(schema)).second) << name;
}

absl::StatusOr<const OperatorSchema*> Catalog::FindOperator(
    std::string_view name) const {
  return FindIn(operators_, name, "operator");
}

absl::StatusOr<const KernelSchema*> Catalog::FindKernel(std::string_view name) const {
  return FindIn(kernels_, name, "kernel");
}

}  // namespace millrace::ir
