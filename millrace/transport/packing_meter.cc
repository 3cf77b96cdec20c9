#include "millrace/transport/packing_meter.h"

#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "millrace/transport/packing_choice.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {

PackingMeter::PackingMeter(PackingMeterOptions options, absl::Duration now)
    : options_(std::move(options)), since_(now), begun_(now), looked_(now) {
  choice_ = ChoosePacking(
      options_.rules, {.same_host = options_.same_host,
                       .packings = std::vector<PackingFacts>(options_.codecs.size())});
}

void PackingMeter::Set(State state, absl::Duration now) {
  const absl::Duration time = now - std::exchange(since_, now);
  const State before = std::exchange(state_, state);
  if (before != State::kIdle) sending_ += time;
  if (before == State::kBlocked) blocked_ += time;
}

void PackingMeter::AddSamples(std::vector<PackingFacts> samples) {
  samples_ = std::move(samples);
  wants_samples_ = false;
}

PackingChoice PackingMeter::Choose(absl::Duration now) {
  if (options_.same_host || options_.codecs.empty()) return choice_;
  if (now - begun_ < options_.window) return choice_;
  Set(state_, now);
  EndWindow(now);
  begun_ = now;
  sending_ = blocked_ = absl::ZeroDuration();
  written_ = 0;
  return choice_;
}

void PackingMeter::EndWindow(absl::Duration now) {
  if (choice_.codec != PayloadCodec::kNone) {
    if (now - looked_ < options_.look_again) return;
    choice_ = {PayloadCodec::kNone, "looking at the link again"};
    samples_.clear();
    return;
  }
  looked_ = now;
  LinkFacts facts{.waiting = absl::FDivDuration(blocked_, now - begun_),
                  .packings = samples_};
  if (sending_ > absl::ZeroDuration()) {
    facts.bytes_per_second =
        static_cast<double>(written_) / absl::ToDoubleSeconds(sending_);
  }
  wants_samples_ = samples_.empty() && facts.waiting >= options_.rules.waiting_least;
  // Without samples codecs gain nothing; the next window knows.
  if (samples_.empty()) facts.packings.resize(options_.codecs.size());
  choice_ = ChoosePacking(options_.rules, facts);
  if (wants_samples_) choice_.reason = "measuring what packing gains";
}

}  // namespace millrace::transport
