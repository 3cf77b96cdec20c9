// Whether what a stream sends should be compressed, and how: a pure function of what
// was measured of the link and of the payloads, with the reason in words.
#pragma once

#include <string_view>
#include <vector>

#include "millrace/transport/prefix.h"

namespace millrace::transport {

// What a codec makes of the payloads that are sent.
struct PackingFacts {
  PayloadCodec codec = PayloadCodec::kNone;
  double ratio = 1;             // Bytes before, for each behind.
  double bytes_per_second = 0;  // That are packed, of those before.
};

struct LinkFacts {
  bool same_host = false;
  double waiting = 0;           // Part of the time in which bytes waited for the link.
  double bytes_per_second = 0;  // That the link took meanwhile.
  std::vector<PackingFacts> packings = {};  // Of what the other side can unpack.
};

struct PackingRules {
  double waiting_least = 0.5;  // Below this something else is the limit.
  double gain_least = 1.2;     // Times as much as without.
  double zstd_least = 1.1;     // Times as much as with lz4, which costs less.
};

struct PackingChoice {
  PayloadCodec codec = PayloadCodec::kNone;
  std::string_view reason = "nothing measured yet";  // For people, word for word.

  bool operator==(const PackingChoice&) const = default;
};

PackingChoice ChoosePacking(const PackingRules& rules, const LinkFacts& facts);

}  // namespace millrace::transport
