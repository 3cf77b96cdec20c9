// All operators and kernels there are. A value made once at start-up from lists;
// nothing registers itself. Pipelines point into it, so it must outlive them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/ir/kernel.h"
#include "millrace/ir/operator.h"

namespace millrace::ir {

class Catalog {
 public:
  // Requires: no other of that name.
  void Add(OperatorSchema schema);
  void Add(KernelSchema schema);

  // Finds by name; the error suggests the name that was probably meant.
  absl::StatusOr<const OperatorSchema*> FindOperator(std::string_view name) const;
  absl::StatusOr<const KernelSchema*> FindKernel(std::string_view name) const;

  const std::map<std::string, OperatorSchema, std::less<>>& operators() const {
    return operators_;
  }

  const std::map<std::string, KernelSchema, std::less<>>& kernels() const {
    return kernels_;
  }

 private:
  std::map<std::string, OperatorSchema, std::less<>> operators_;
  std::map<std::string, KernelSchema, std::less<>> kernels_;
};

}  // namespace millrace::ir
