#include "millrace/cli/status_view.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

#include "millrace/api/operations.h"
#include "millrace/api/service.h"
#include "millrace/base/text.h"
#include "millrace/cli/table.h"
#include "millrace/profile/table.h"

namespace millrace::cli {
namespace {

constexpr int64_t kNoticesShown = 10;

std::string Of(int64_t part, int64_t all) { return base::StrCat(part, " of ", all); }

// "0.3 s", "12 s", "3 min", "2 h": what people want to know of a time that has passed.
std::string Ago(int64_t milliseconds) {
  const double seconds = static_cast<double>(milliseconds) / 1000;
  if (seconds < 10) return absl::StrFormat("%.1f s", seconds);
  if (seconds < 120) return absl::StrFormat("%.0f s", seconds);
  if (seconds < 7200) return absl::StrFormat("%.0f min", seconds / 60);
  return absl::StrFormat("%.0f h", seconds / 3600);
}

std::string LanesOf(const api::JobSummary& job) {
  return job.lanes < 0 ? base::StrCat(job.lanes_placed, " of endless")
                       : Of(job.lanes_placed, job.lanes);
}

std::string NameOf(const api::JobSummary& job) {
  return job.name.empty() ? base::StrCat("(job ", job.job, ")") : job.name;
}

std::string RateOf(const api::JobSummary& job) {
  return absl::StrFormat("%.1f", job.batches_per_second);
}

std::string ShowWaiting(const api::JobSummary& job) {
  std::string text;
  for (const api::WaitingConsumer& one : job.waiting) {
    const std::string member =
        one.member == 0 ? "" : base::StrCat(", member ", one.member);
    const std::string where =
        one.worker.empty() ? "which no worker runs" : "on worker " + one.worker;
    text +=
        Harmless(base::StrCat("  ", NameOf(job), ": consumer ", one.consumer, member,
                              " waits ", Ago(one.waits_ms), " for lane ", one.lane.lane,
                              " of pass ", one.lane.pass, ", ", where)) +
        "\n";
  }
  return text;
}

// How a job gets rows that others of its group read too.
std::string ShowSharing(const api::JobSummary& job) {
  const api::JobVisits& visits = job.visits;
  const bool shared = visits.shared + visits.again + visits.skipped > 0;
  if (job.sharers < 2 && !shared) return "";
  const std::string group =
      job.group.empty() ? job.share.substr(0, 8) : base::StrCat("\"", job.group, "\"");
  return Harmless(base::StrCat(
             "  ", NameOf(job), ": in group ", group, " of ", job.sharers,
             "; rows made ", visits.made, ", shared ", visits.shared, ", made again ",
             visits.again, ", skipped ", visits.skipped, "; ", visits.lag,
             " rows behind; windows ",
             profile::ShowBytes(static_cast<double>(visits.window_bytes)))) +
         "\n";
}

std::string IndexOf(const api::WorkerFacts& facts) {
  return facts.of == 0 ? "" : Of(facts.index, facts.of);
}

std::string HeadOf(const ServiceView& view) {
  const api::ServiceStatus& status = view.status;
  const std::string draining =
      status.workers_draining == 0
          ? ""
          : base::StrCat(" (", status.workers_draining, " leaving)");
  return Harmless(base::StrCat("Millrace at ", view.address, "  ",
                               status.ready ? "ready" : "waits for " + status.waits_for,
                               "  jobs ", status.jobs, "  workers ", status.workers,
                               draining, "  lanes ", status.lanes_placed, " run, ",
                               status.lanes_waiting, " wait"));
}

std::string NoticeLine(const api::NoticeSummary& notice) {
  return Harmless(base::StrCat(notice.what, " ", notice.name,
                               notice.why.empty() ? "" : ": ", notice.why));
}

void AddPart(std::string title, const std::string& text,
             std::vector<std::string>& lines) {
  lines.emplace_back();
  lines.push_back(std::move(title));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    lines.emplace_back(line);
  }
  lines.pop_back();  // What follows the last line's end.
}

}  // namespace

std::string ShowJobs(const api::JobList& list) {
  if (list.jobs.empty()) return "There are no jobs.\n";
  Table table({{"name"},
               {"consumers"},
               {"pass", Align::kRight},
               {"batches", Align::kRight},
               {"batches/s", Align::kRight},
               {"left out", Align::kRight},
               {"lanes"},
               {"workers", Align::kRight},
               {"heard"},
               {"state"},
               {"order"},
               {"seed"}});
  std::string waiting;
  std::string sharing;
  for (const api::JobSummary& job : list.jobs) {
    table.Add({NameOf(job), Of(job.consumers_heard, job.consumers),
               base::StrCat(job.pass), base::StrCat(job.taken), RateOf(job),
               base::StrCat(job.left_out_rows), LanesOf(job), base::StrCat(job.workers),
               Ago(job.heard_ms), job.state, job.order, base::StrCat(job.seed)});
    waiting += ShowWaiting(job);
    sharing += ShowSharing(job);
  }
  return table.Text() + waiting + sharing;
}

std::string ShowWorkers(const api::WorkerList& list) {
  if (list.workers.empty()) {
    return "There are no workers: start one with `millrace worker --join HOST:PORT`.\n";
  }
  Table table({{"address"},
               {"host"},
               {"lanes"},
               {"heard"},
               {"state"},
               {"memory", Align::kRight},
               {"python"},
               {"index"},
               {"tags"}});
  for (const api::WorkerSummary& worker : list.workers) {
    const api::WorkerFacts& facts = worker.facts;
    const auto memory = static_cast<double>(facts.memory_bytes);
    table.Add({facts.address, facts.host, Of(worker.lanes, facts.lanes_max),
               Ago(worker.heard_ms), worker.draining ? "leaving" : "working",
               memory == 0 ? "" : profile::ShowBytes(memory),
               facts.python ? "yes" : "no", IndexOf(facts),
               absl::StrJoin(facts.tags, ",")});
  }
  return table.Text();
}

std::string ShowNotices(const api::NoticeList& list, int64_t count) {
  if (list.notices.empty()) return "Nothing has happened yet.\n";
  Table table({{"ago", Align::kRight}, {"what"}, {"to"}, {"why"}});
  const int64_t shown = std::min(count, std::ssize(list.notices));
  for (int64_t i = 0; i < shown; ++i) {
    const api::NoticeSummary& notice = *(list.notices.rbegin() + i);
    table.Add({Ago(notice.ago_ms), notice.what, notice.name, notice.why});
  }
  return table.Text();
}

std::vector<std::string> Frame(const ServiceView& view) {
  std::vector<std::string> lines = {HeadOf(view)};
  AddPart("JOBS", ShowJobs(view.jobs), lines);
  AddPart("WORKERS", ShowWorkers(view.workers), lines);
  AddPart("LATELY", ShowNotices(view.notices, kNoticesShown), lines);
  return lines;
}

std::vector<std::string> Fitted(std::vector<std::string> lines, int64_t rows,
                                int64_t columns) {
  rows = std::max<int64_t>(rows, 1);
  const int64_t hidden = std::ssize(lines) - rows;
  if (hidden > 0) {
    lines.resize(static_cast<size_t>(rows));
    lines.back() = base::StrCat("(", hidden + 1, " more lines: a taller window, or ",
                                "`millrace jobs` and `millrace workers`, show them)");
  }
  for (std::string& line : lines) {
    line = Shortened(line, static_cast<size_t>(std::max<int64_t>(columns, 1)));
  }
  return lines;
}

std::vector<std::string> PlainLines(const ServiceView& view, absl::Time now,
                                    int64_t& noticed) {
  const std::string time = absl::FormatTime("%H:%M:%S", now, absl::UTCTimeZone());
  std::vector<std::string> lines;
  for (const api::NoticeSummary& notice : view.notices.notices) {
    if (notice.number <= noticed) continue;
    noticed = notice.number;
    lines.push_back(base::StrCat(time, " ", NoticeLine(notice)));
  }
  for (const api::JobSummary& job : view.jobs.jobs) {
    lines.push_back(Harmless(base::StrCat(
        time, " job ", NameOf(job), ": ", job.state, "; pass ", job.pass, ", ",
        job.taken, " batches, ", RateOf(job), "/s, ", job.workers, " workers")));
  }
  if (lines.empty()) lines.push_back(base::StrCat(time, " ", HeadOf(view)));
  return lines;
}

}  // namespace millrace::cli
