#include "millrace/transport/packing_choice.h"

#include <algorithm>

#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

constexpr PackingChoice None(std::string_view why) {
  return {PayloadCodec::kNone, why};
}

// Bytes per second that would arrive, as they were before.
double RateWith(const PackingFacts& packing, const LinkFacts& facts) {
  return std::min(packing.bytes_per_second, packing.ratio * facts.bytes_per_second);
}

}  // namespace

PackingChoice ChoosePacking(const PackingRules& rules, const LinkFacts& facts) {
  if (facts.same_host) return None("both ends are on one host");
  if (facts.packings.empty()) return None("the other side unpacks nothing");
  if (facts.bytes_per_second <= 0) return None("nothing measured yet");
  if (facts.waiting < rules.waiting_least) return None("the link is not the limit");
  PackingFacts best;
  double best_rate = 0;
  for (const PackingFacts& packing : facts.packings) {
    const double rate = RateWith(packing, facts);
    const double least =
        packing.codec == PayloadCodec::kZstd && best.codec == PayloadCodec::kLz4
            ? rules.zstd_least * best_rate
            : best_rate;
    if (rate <= least) continue;
    best = packing;
    best_rate = rate;
  }
  if (best_rate < rules.gain_least * facts.bytes_per_second) {
    return None("packing would gain too little");
  }
  return {best.codec, best.codec == PayloadCodec::kLz4
                          ? "the link is the limit, and lz4 keeps up with it"
                          : "the link is the limit, and zstd saves the most of it"};
}

}  // namespace millrace::transport
