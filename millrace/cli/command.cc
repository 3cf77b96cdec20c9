#include "millrace/cli/command.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/arrow/operators.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/child.h"
#include "millrace/cli/settings.h"
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
  LogFlags log;
  Action run;
};

// The verb among the words; null: there is none.
const Verb* ChosenVerb(const std::vector<Verb>& verbs,
                       const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto found = std::ranges::find(verbs, word, &Verb::name);
    if (found != verbs.end()) return &*found;
  }
  return nullptr;
}

// Of the other verbs only their names: what the environment says of their flags is
// none of this one's business.
void Declare(const std::vector<Verb>& verbs, const Verb* chosen, CLI::App& app,
             Wish& wish) {
  app.require_subcommand(1);
  app.fallthrough();  // What holds for all verbs may stand behind them, too.
  app.add_option("--plugin", wish.plugins,
                 "A shared library with further kernels and operators; may come again")
      ->type_name("PATH")
      ->allow_extra_args(false);
  for (const Verb& verb : verbs) {
    CLI::App* command = app.add_subcommand(verb.name, verb.doc);
    if (&verb != chosen) continue;
    const Action run = verb.declare(*command);
    if (verb.takes_settings) AddSettings(*command, wish.log);
    command->callback([run, &wish] { wish.run = run; });
  }
}

// The words, with what the environment and a file add to them.
absl::StatusOr<std::vector<std::string>> AllWords(const std::vector<Verb>& verbs,
                                                  const Verb* chosen,
                                                  const CLI::App& app,
                                                  std::vector<std::string> words) {
  if (chosen == nullptr || !chosen->takes_settings) return words;
  std::vector<std::string> sections;
  for (const Verb& verb : verbs) {
    if (verb.takes_settings) sections.push_back(verb.name);
  }
  return WithSettings(*app.get_subcommand(chosen->name), sections, std::move(words));
}

absl::Status Fulfil(const Wish& wish) {
  TRY(SetLog(wish.log));
  ops::ExtendDefaultLibrary(arrow::AddOperators);
  for (const std::string& path : wish.plugins) {
    TRY(ops::ExtendDefaultLibrary(
        [&](ops::Library& library) { return plugin::LoadPlugin(path, library); }));
  }
  return wish.run();
}

std::vector<std::string>& TheOwnWords() {
  static auto& words = *new std::vector<std::string>;
  return words;
}

std::optional<PythonPackages>& ThePython() {
  static auto& packages = *new std::optional<PythonPackages>;
  return packages;
}

}  // namespace

void SetPython(PythonPackages packages) { ThePython() = std::move(packages); }

const std::optional<PythonPackages>& Python() { return ThePython(); }

const std::vector<std::string>& OwnWords() { return TheOwnWords(); }

int RunCommand(int argc, char** argv) {
  CLI::App app(
      "Millrace feeds accelerators: input pipelines for training, defined once.",
      "millrace");
  TheOwnWords() = ThisProgram(argc);
  const std::vector<Verb> verbs = AllVerbs();
  Wish wish;
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const Verb* const chosen = ChosenVerb(verbs, words);
  Declare(verbs, chosen, app, wish);
  if (argc > 1 && argv[1][0] != '-') {
    const std::string unknown = UnknownVerb(verbs, argv[1]);
    if (!unknown.empty()) return Fail(unknown, kWrongUse);
  }
  absl::StatusOr<std::vector<std::string>> all =
      AllWords(verbs, chosen, app, std::move(words));
  if (!all.ok()) return Fail(base::ToStd(all.status().message()), kWrongUse);
  try {
    std::ranges::reverse(*all);  // As CLI11 wants them.
    app.parse(*std::move(all));
  } catch (const CLI::ParseError& error) {  // Also the wish for help.
    return app.exit(error) == 0 ? 0 : kWrongUse;
  }
  const absl::Status status = Fulfil(wish);
  return status.ok() ? 0 : Fail(base::ToStd(status.message()), kFailed);
}

}  // namespace millrace::cli
