// For tests: runs something once for each kind of processor that this one can stand in
// for, so that all of them can be compared.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "hwy/targets.h"

namespace millrace::kernels {

inline void ForEachTarget(absl::FunctionRef<void(const char* target)> run) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    run(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace millrace::kernels
