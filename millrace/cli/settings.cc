#include "millrace/cli/settings.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include <CLI/CLI.hpp>

#include "millrace/base/log.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::cli {
namespace {

constexpr char kConfig[] = "config";

// "token-file", of an option that has such a name and may come from elsewhere.
std::string NameOf(const CLI::Option& option) {
  const std::vector<std::string>& names = option.get_lnames();
  return names.empty() || names.front() == "help" ? "" : names.front();
}

std::string VariableOf(const std::string& name) {
  return base::StrCat("MILLRACE_",
                      absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}})));
}

bool TakesSeveral(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

// What a variable says; nothing where it is not set, or to nothing.
std::optional<std::string> Variable(const std::string& name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment.
  const char* const value = name.empty() ? nullptr : std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string FlagOf(const std::string& name) { return "--" + name; }

// Whether the command line has a flag, as --name VALUE or --name=VALUE.
bool IsGiven(const std::vector<std::string>& words, const std::string& name) {
  const auto end = std::ranges::find(words, "--");  // Only names of files follow.
  return std::any_of(words.begin(), end, [&](const std::string& word) {
    return word == FlagOf(name) || word.starts_with(FlagOf(name) + "=");
  });
}

std::string ConfigOf(const std::vector<std::string>& words) {
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (word->starts_with("--config=")) return word->substr(word->find('=') + 1);
    if (*word == "--config" && std::next(word) != words.end()) return *std::next(word);
  }
  return Variable(VariableOf(kConfig)).value_or("");
}

absl::StatusOr<std::vector<CLI::ConfigItem>> ReadItems(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(base::StrCat("--config: cannot read ", path));
  }
  try {
    return CLI::ConfigTOML().from_config(file);
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(
        base::StrCat("--config: ", path, ": ", error.what()));
  }
}

// The names that a file may use for a verb.
std::set<std::string> NamesOf(const CLI::App& command) {
  std::set<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = NameOf(*option);
    if (!name.empty() && name != kConfig) names.insert(name);
  }
  return names;
}

// Whether an item of the file is for this verb; an error where it is for nobody.
absl::StatusOr<bool> Concerns(const CLI::ConfigItem& item, const std::string& path,
                              const CLI::App& command,
                              const std::vector<std::string>& verbs) {
  if (item.name == "++" || item.name == "--") return false;  // A section's ends.
  const bool in_section = !item.parents.empty();
  const std::string section = absl::StrJoin(item.parents, ".");
  if (in_section && std::ranges::find(verbs, section) == verbs.end()) {
    return absl::InvalidArgumentError(
        base::StrCat(path, ": there is no section [", section,
                     "]; there are: ", absl::StrJoin(verbs, " ")));
  }
  if (in_section && section != command.get_name()) return false;
  const std::set<std::string> names = NamesOf(command);
  if (names.contains(item.name)) return true;
  return absl::InvalidArgumentError(base::StrCat(
      path, ": millrace ", command.get_name(), " knows no key ", item.fullname(),
      "; what is for another verb stands under [its name]. There are: ",
      absl::StrJoin(names, " ")));
}

class Words {
 public:
  Words(const CLI::App& command, std::vector<std::string> words)
      : command_(command), words_(std::move(words)) {}

  // Variables of flags that may come again have several values, with commas between;
  // CLI11 reads the others.
  void AddVariables() {
    for (const CLI::Option* option : command_.get_options()) {
      const std::string name = NameOf(*option);
      const std::optional<std::string> value = Variable(option->get_envname());
      if (name.empty() || !value || IsGiven(words_, name)) continue;
      known_.insert(name);
      if (!TakesSeveral(*option)) continue;
      for (const absl::string_view one : absl::StrSplit(*value, ',')) {
        Add(name, base::ToStd(one));
      }
    }
  }

  void AddItem(const CLI::ConfigItem& item) {
    if (known_.contains(item.name) || IsGiven(words_, item.name)) return;
    for (const std::string& value : item.inputs) Add(item.name, value);
  }

  std::vector<std::string> Take() && {
    const auto verb = std::ranges::find(words_, command_.get_name());
    if (verb == words_.end()) return std::move(words_);
    words_.insert(verb + 1, added_.begin(), added_.end());
    return std::move(words_);
  }

 private:
  void Add(const std::string& name, std::string_view value) {
    added_.push_back(base::StrCat(FlagOf(name), "=", value));
  }

  const CLI::App& command_;
  std::vector<std::string> words_;
  std::vector<std::string> added_;
  std::set<std::string> known_;  // From the environment.
};

}  // namespace

void AddSettings(CLI::App& command, LogFlags& log) {
  command
      .add_option_function<std::string>(
          "--config", [](const std::string&) {},
          "A file with flags, as in listen = \"HOST:PORT\", under [VERB] or above all "
          "such; flags and variables count more")
      ->type_name("FILE");
  command.add_option("--log-level", log.level, "The least that is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}));
  command.add_option("--log-format", log.format, "Lines for people, or of JSON")
      ->check(CLI::IsMember({"text", "json"}));
  for (CLI::Option* option : command.get_options()) {
    const std::string name = NameOf(*option);
    if (!name.empty() && option->get_envname().empty()) {
      option->envname(VariableOf(name));
    }
  }
}

absl::StatusOr<std::vector<std::string>> WithSettings(
    const CLI::App& command, const std::vector<std::string>& verbs,
    std::vector<std::string> words) {
  if (IsGiven(words, "help") || std::ranges::find(words, "-h") != words.end()) {
    return words;  // Whatever else is wrong, help is given.
  }
  const std::string path = ConfigOf(words);
  Words all(command, std::move(words));
  all.AddVariables();
  if (path.empty()) return std::move(all).Take();
  for (const CLI::ConfigItem& item : TRY(ReadItems(path))) {
    if (TRY(Concerns(item, path, command, verbs))) all.AddItem(item);
  }
  return std::move(all).Take();
}

absl::Status SetLog(const LogFlags& log) {
  if (log.level.empty() && log.format.empty()) return absl::OkStatus();
  // What is not given stays as MILLRACE_LOG has it.
  const base::LogSettings before = base::SetLogSettings({});
  base::LogSettings settings = before;
  if (!log.level.empty()) settings.level = TRY(base::ParseLogSettings(log.level)).level;
  if (!log.format.empty()) {
    settings.format = TRY(base::ParseLogSettings(log.format)).format;
  }
  base::SetLogSettings(settings);
  return absl::OkStatus();
}

}  // namespace millrace::cli
