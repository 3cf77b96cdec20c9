#include "millrace/cli/command.h"

#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/arrow/operators.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/verb.h"
#include "millrace/ops/library.h"
#include "millrace/plugin/load.h"

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

constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

int Fail(std::string_view message, int code) {
  std::cerr << "millrace: " << message << "\n";
  return code;
}

// Says what is wrong with the verb, of which CLI11 would say only that it is missing.
std::string UnknownVerb(const std::vector<Verb>& verbs, std::string_view given) {
  std::string names;
  for (const Verb& verb : verbs) {
    if (verb.name == given) return "";
    names += " " + verb.name;
  }
  return base::StrCat("there is no verb ", given, "; there are:", names);
}

using Action = std::function<absl::Status()>;

// What the command line asks for.
struct Wish {
  std::vector<std::string> plugins;
  Action run;
};

void Declare(const std::vector<Verb>& verbs, CLI::App& app, Wish& wish) {
  app.require_subcommand(1);
  app.fallthrough();  // What holds for all verbs may stand behind them, too.
  app.add_option("--plugin", wish.plugins,
                 "A shared library with further kernels and operators; may come again")
      ->type_name("PATH")
      ->allow_extra_args(false);
  for (const Verb& verb : verbs) {
    CLI::App* command = app.add_subcommand(verb.name, verb.doc);
    const Action run = verb.declare(*command);
    command->callback([run, &wish] { wish.run = run; });
  }
}

absl::Status Fulfil(const Wish& wish) {
  ops::ExtendDefaultLibrary(arrow::AddOperators);
  for (const std::string& path : wish.plugins) {
    TRY(ops::ExtendDefaultLibrary(
        [&](ops::Library& library) { return plugin::LoadPlugin(path, library); }));
  }
  return wish.run();
}

}  // namespace

int RunCommand(int argc, char** argv) {
  CLI::App app(
      "Millrace feeds accelerators: input pipelines for training, defined once.",
      "millrace");
  const std::vector<Verb> verbs = AllVerbs();
  Wish wish;
  Declare(verbs, app, wish);
  if (argc > 1 && argv[1][0] != '-') {
    const std::string unknown = UnknownVerb(verbs, argv[1]);
    if (!unknown.empty()) return Fail(unknown, kWrongUse);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // Also the wish for help.
    return app.exit(error) == 0 ? 0 : kWrongUse;
  }
  const absl::Status status = Fulfil(wish);
  return status.ok() ? 0 : Fail(base::ToStd(status.message()), kFailed);
}

}  // namespace millrace::cli
