// Measures a stream as it sends, and says how its payloads are to be compressed
// (packing_choice.h): looks at the link while nothing is packed, samples what codecs
// make of a payload once the link is the limit, and looks again now and then. Time is
// given; of one thread; costs some nanoseconds a call.
//
//   meter.Set(PackingMeter::State::kBlocked, now);   // As it happens.
//   meter.AddWritten(bytes);
//   if (meter.wants_samples()) meter.AddSample(…);
//   writer.set_codec(meter.Choose(now).codec);
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

#include "millrace/transport/packing_choice.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {

struct PackingMeterOptions {
  PackingRules rules = {};
  absl::Duration window = absl::Milliseconds(500);  // That is looked at together.
  absl::Duration look_again = absl::Seconds(30);    // At the link, without packing.
  bool same_host = false;
  std::vector<PayloadCodec> codecs = {};  // That the other side can unpack.
};

class PackingMeter {
 public:
  // Nothing to send; sending; waiting for the link.
  enum class State : uint8_t { kIdle, kSending, kBlocked };

  PackingMeter(PackingMeterOptions options, absl::Duration now);

  void Set(State state, absl::Duration now);

  void AddWritten(int64_t bytes) { written_ += bytes; }

  // Whether a payload is to be packed by each codec, to see what that gains.
  bool wants_samples() const { return wants_samples_; }

  // What came of that, for all codecs.
  void AddSamples(std::vector<PackingFacts> samples);

  const std::vector<PayloadCodec>& codecs() const { return options_.codecs; }

  PackingChoice Choose(absl::Duration now);

 private:
  void EndWindow(absl::Duration now);

  PackingMeterOptions options_;
  PackingChoice choice_;
  State state_ = State::kIdle;
  absl::Duration since_;                           // In this state.
  absl::Duration begun_;                           // The window.
  absl::Duration looked_;                          // At the link, the last time.
  absl::Duration sending_ = absl::ZeroDuration();  // In the window, blocked or not.
  absl::Duration blocked_ = absl::ZeroDuration();
  int64_t written_ = 0;
  bool wants_samples_ = false;
  std::vector<PackingFacts> samples_;
};

}  // namespace millrace::transport
