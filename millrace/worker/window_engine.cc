#include "millrace/worker/window_engine.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows.h"
#include "millrace/exec/engine.h"
#include "millrace/worker/lane_engine.h"
#include "millrace/worker/plans.h"

namespace millrace::worker {

WindowEngine::WindowEngine(exec::Engine& engine, std::unique_ptr<Plans> plans,
                           Post post, LaneEvents events,
                           const delivery::WindowOptions& options)
    : events_(std::move(events)),
      windows_(options),
      engine_(engine, std::move(plans), std::move(post), EngineEvents()) {}

void WindowEngine::SetJobs(const std::vector<api::WorkerJob>& jobs) {
  for (const api::WorkerJob& job : jobs) {
    if (!job.manifest.empty()) engine_.SetJob(job);
  }
  windows_.SetJobs(jobs);
}

LaneEvents WindowEngine::EngineEvents() {
  return {
      .on_made = [this](delivery::RunId run,
                        const delivery::Made& made) { windows_.OnMade(run, made); },
      .on_ended =
          [this](delivery::RunId run, int64_t rows, const std::vector<int64_t>& tails) {
            windows_.OnEnded(run, rows, tails);
          },
      .on_failed = [this](delivery::RunId run,
                          const absl::Status& why) { windows_.OnFailed(run, why); },
      .on_listed = [this](const api::ListedJob& listed) { events_.on_listed(listed); }};
}

bool WindowEngine::Act(absl::Time now) {
  windows_.Advance(now);
  const std::vector<delivery::WindowAction> actions = windows_.TakeActions();
  for (const delivery::WindowAction& action : actions) Do(action);
  return !actions.empty();
}

void WindowEngine::Do(const delivery::WindowAction& action) {
  if (const auto* start = std::get_if<delivery::StartRun>(&action)) {
    engine_.Start(*start);
  } else if (const auto* stop = std::get_if<delivery::StopRun>(&action)) {
    engine_.Stop(stop->run);
  } else if (const auto* pull = std::get_if<delivery::Pull>(&action)) {
    engine_.Pull(pull->run, pull->needed);
  } else if (const auto* hurry = std::get_if<delivery::Hurry>(&action)) {
    engine_.Hurry(hurry->run);
  } else if (const auto* drop = std::get_if<delivery::Drop>(&action)) {
    engine_.Drop(drop->token);
  } else if (const auto* compose = std::get_if<delivery::Compose>(&action)) {
    engine_.Compose(*compose);
  } else if (const auto* made = std::get_if<delivery::GiveMade>(&action)) {
    events_.on_made(made->run, made->made);
  } else if (const auto* end = std::get_if<delivery::GiveEnd>(&action)) {
    events_.on_ended(end->run, end->rows, end->tails);
  } else if (const auto* failure = std::get_if<delivery::GiveFailure>(&action)) {
    events_.on_failed(failure->run, failure->status);
  } else {
    const auto& skip = std::get<delivery::GiveSkip>(action);
    events_.on_skipped(skip.run, skip.begin, skip.end);
  }
}

}  // namespace millrace::worker
