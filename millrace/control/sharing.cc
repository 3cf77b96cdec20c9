#include "millrace/control/sharing.h"

#include <string>

#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/sha256.h"
#include "millrace/base/text.h"
#include "millrace/control/rights.h"
#include "millrace/control/state.h"
#include "millrace/lanes/state.h"

namespace millrace::control {

bool NamesGroup(const api::JobSettings& settings) {
  return settings.share != "auto" && settings.share != "off";
}

std::string SharedRows(const JobState& job, const api::JobFacts& facts) {
  if (job.settings.share == "off" || facts.rows_hash.empty()) return "";
  const std::string name = NamesGroup(job.settings) ? job.settings.share : "";
  return base::StrCat(facts.rows_hash, " ", job.seed, " ", job.copies, " ", name);
}

std::string ShareOf(const JobState& job) {
  const std::string rows = job.facts ? SharedRows(job, *job.facts) : "";
  if (rows.empty()) return "";
  std::string cuts = job.facts->cuts;
  if (!job.state.empty()) {
    const absl::StatusOr<lanes::State> began = api::StateFromJson(job.state);
    if (!began.ok()) return "";
    cuts = api::CutsToJson(began->cuts);
  }
  return base::ToHex(base::Sha256Of(base::StrCat(rows, " ", cuts)));
}

void Add(api::JobVisits& visits, const api::JobVisits& others) {
  Increase(visits.made, others.made);
  Increase(visits.shared, others.shared);
  Increase(visits.again, others.again);
  Increase(visits.skipped, others.skipped);
  Increase(visits.joined, others.joined);
  Increase(visits.lag, others.lag);
  Increase(visits.window_bytes, others.window_bytes);
}

}  // namespace millrace::control
