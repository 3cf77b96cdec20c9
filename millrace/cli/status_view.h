// What a dispatcher tells, as text for people: tables, the frame of `millrace top`, and
// plain lines. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "millrace/api/operations.h"

namespace millrace::cli {

// Tables; a sentence where there is nothing.
std::string ShowJobs(const api::JobList& list);
std::string ShowWorkers(const api::WorkerList& list);

// The last `count` of them, the latest first.
std::string ShowNotices(const api::NoticeList& list, int64_t count);

// All that was asked at one moment.
struct ServiceView {
  std::string address = {};
  api::ServiceStatus status = {};
  api::JobList jobs = {};
  api::WorkerList workers = {};
  api::NoticeList notices = {};
};

// One picture of a service, as lines.
std::vector<std::string> Frame(const ServiceView& view);

// The lines that fit into a window; the last says how many do not.
std::vector<std::string> Fitted(std::vector<std::string> lines, int64_t rows,
                                int64_t columns);

// A line for each job and each notice after the one of number `noticed`, which becomes
// that of the last.
std::vector<std::string> PlainLines(const ServiceView& view, absl::Time now,
                                    int64_t& noticed);

}  // namespace millrace::cli
