// For tests: the plug-ins that are built beside them, loaded.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/plugin/load.h"

namespace millrace::plugin {

// A module that was built beside this test: "words.so".
inline std::string ModulePath(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

// Loads the plug-in that breaks a rule of descriptions; none where it is empty.
inline absl::Status LoadBreaking(const std::string& rule, ops::Library& library) {
  setenv("MILLRACE_RULE", rule.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  return LoadPlugin(ModulePath("rule_breaker.so"), library);
}

// Puts the example, and what breaks rules when it runs, into the default library.
class PluggedEnvironment final : public testing::Environment {
 public:
  void SetUp() override {
    const absl::Status status =
        ops::ExtendDefaultLibrary([](ops::Library& library) -> absl::Status {
          TRY(LoadPlugin(ModulePath("words.so"), library));
          return LoadBreaking("", library);
        });
    CHECK(status.ok()) << status;
  }
};

inline const testing::Environment* const kPlugged =
    testing::AddGlobalTestEnvironment(new PluggedEnvironment);

// Runs a pass of a pipeline as it is written.
inline absl::StatusOr<std::vector<core::Block>> RunText(const std::string& text) {
  return exec::RunAll(TRY(ir::Parse(text, {}, ops::DefaultLibrary().catalog())));
}

}  // namespace millrace::plugin
