// For tests: peers that are small shell scripts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "millrace/base/text.h"
#include "millrace/bench/workload.h"
#include "millrace/storage/samples_test.h"

namespace millrace::bench {

// Options under which every peer is this script, whatever its name.
inline BenchOptions WithScript(const storage::TemporaryFolder& folder,
                               std::string_view script) {
  const std::string path =
      folder.Write("peer.sh", base::StrCat("#!/bin/sh\n", script, "\n"));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return {.folder = folder.path(), .threads = 1, .repeats = 3, .python = path};
}

// A peer that reaches 1, 2, 3, ... per second.
inline constexpr std::string_view kCounts =
    "echo ready; n=0; while read line; do n=$((n + 1)); echo $n; done";

}  // namespace millrace::bench
