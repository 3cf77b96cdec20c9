#include "millrace/bench/beside_peer.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/peer.h"
#include "millrace/bench/workload.h"

namespace millrace::bench {

absl::StatusOr<std::vector<Line>> BesidePeer(const BenchOptions& options,
                                             const PeerCall& call, Measure ours,
                                             Line line) {
  const absl::StatusOr<std::unique_ptr<Peer>> peer =
      Peer::Start(options, call.program, call.arguments);
  if (absl::IsNotFound(peer.status())) {
    if (!call.makes_data) line.ours = TRY(MedianOf(options.repeats, ours));
    line.limit_is =
        base::StrCat("not measured: ", base::ToStd(peer.status().message()));
    return std::vector<Line>{std::move(line)};
  }
  TRY(peer.status());
  TRY(ours().status());  // What is slow once does not count.
  const Medians medians =
      TRY(Compare(options.repeats, ours, [&] { return (*peer)->Rate(); }));
  line.ours = medians.ours;
  line.limit = medians.limit;
  return std::vector<Line>{std::move(line)};
}

}  // namespace millrace::bench
