// The `millrace` command.

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/cli/verb.h"

namespace millrace::cli {

#define VERB(name) Verb name##Verb();
#include "millrace/cli/verbs.inc"
#undef VERB

namespace {

std::vector<Verb> AllVerbs() {
  std::vector<Verb> verbs;
#define VERB(name) verbs.push_back(name##Verb());
#include "millrace/cli/verbs.inc"
#undef VERB
  return verbs;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Millrace feeds accelerators: input pipelines for training, defined once.");
  app.require_subcommand(1);
  absl::Status status;
  for (const Verb& verb : AllVerbs()) {
    CLI::App* command = app.add_subcommand(verb.name, verb.doc);
    const std::function<absl::Status()> run = verb.declare(*command);
    command->callback([run, &status] { status = run(); });
  }
  CLI11_PARSE(app, argc, argv);
  if (status.ok()) return 0;
  std::cerr << "millrace: " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace millrace::cli

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory ends the process either way.
int main(int argc, char** argv) { return millrace::cli::Main(argc, argv); }
