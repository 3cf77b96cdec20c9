// The verbs of the command line: one file each, one line in `verbs.inc`.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11.
class App;
}  // namespace CLI

namespace millrace::cli {

struct Verb {
  std::string name;
  std::string doc;

  // Adds its options to the command's parser, and gives what to do once they are
  // parsed.
  std::function<std::function<absl::Status()>(CLI::App& command)> declare;

  // Its flags may also come from the environment and from a file (settings.h).
  bool takes_settings = false;
};

}  // namespace millrace::cli
