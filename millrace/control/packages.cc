#include "millrace/control/packages.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"

#include "millrace/api/service.h"
#include "millrace/base/text.h"
#include "millrace/control/placing.h"

namespace millrace::control {
namespace {

constexpr size_t kDifferencesMax = 20;  // More are no help to anybody.

const api::Package* Find(const Candidate& worker, const std::string& name) {
  if (worker.packages == nullptr) return nullptr;
  const auto found =
      std::ranges::lower_bound(*worker.packages, name, {}, &api::Package::name);
  const bool there = found != worker.packages->end() && found->name == name;
  return there ? &*found : nullptr;
}

// Of "3.11.2" the first two numbers: functions travel as the code of one such version.
std::string_view Minor(std::string_view version) {
  const size_t dot = version.find('.');
  if (dot == std::string_view::npos) return version;
  return version.substr(0, version.find('.', dot + 1));
}

bool Fits(const Candidate& worker, const api::Package& needed) {
  const api::Package* const found = Find(worker, needed.name);
  if (found == nullptr) return false;
  return needed.name != "python" || Minor(found->version) == Minor(needed.version);
}

}  // namespace

std::vector<api::Package> Sorted(std::vector<api::Package> packages) {
  std::ranges::sort(packages, {}, &api::Package::name);
  return packages;
}

bool MayRunFunctions(const Candidate& worker, const api::JobSettings& settings) {
  if (settings.packages.empty()) return true;
  return worker.facts.python &&
         std::ranges::all_of(settings.packages,
                             [&](const auto& needed) { return Fits(worker, needed); });
}

std::vector<std::string> Differences(const Candidate& worker,
                                     const api::JobSettings& settings) {
  std::vector<std::string> differences;
  for (const api::Package& needed : settings.packages) {
    const api::Package* const found = Find(worker, needed.name);
    if (found != nullptr && found->version == needed.version) continue;
    const std::string has = found == nullptr
                                ? base::StrCat("no ", needed.name)
                                : base::StrCat(needed.name, " ", found->version);
    differences.push_back(base::StrCat("worker ", worker.facts.address, " has ", has,
                                       ", the functions come from ", needed.version));
  }
  return differences;
}

std::vector<std::string> DifferencesOfAll(const std::vector<Candidate>& workers,
                                          const api::JobSettings& settings) {
  std::vector<std::string> all;
  for (const Candidate& worker : workers) {
    if (!worker.facts.python) continue;
    for (std::string& difference : Differences(worker, settings)) {
      if (all.size() < kDifferencesMax) all.push_back(std::move(difference));
    }
  }
  return all;
}

absl::Status CheckFunctions(const std::vector<Candidate>& workers,
                            const api::JobSettings& settings, bool has_token) {
  if (settings.packages.empty()) return absl::OkStatus();
  if (!has_token) {
    return absl::FailedPreconditionError(
        "the pipeline has Python functions, and the dispatcher asks nobody for a "
        "token: start dispatcher, workers and trainers with the same MILLRACE_TOKEN or "
        "--token-file, or have the functions traced (python=False says what stops it)");
  }
  const auto may = [](const Candidate& worker) { return worker.facts.python; };
  const auto fits = [&](const Candidate& worker) {
    return MayRunFunctions(worker, settings);
  };
  if (workers.empty() || std::ranges::any_of(workers, fits)) return absl::OkStatus();
  if (std::ranges::none_of(workers, may)) {
    return absl::FailedPreconditionError(
        "the pipeline has Python functions, and no worker may run such: start workers "
        "with `millrace worker --allow-python`, or have the functions traced "
        "(python=False says what stops it)");
  }
  return absl::FailedPreconditionError(
      base::StrCat("no worker has what the Python functions need: ",
                   absl::StrJoin(DifferencesOfAll(workers, settings), "; "),
                   ": install the same there"));
}

}  // namespace millrace::control
