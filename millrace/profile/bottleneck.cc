#include "millrace/profile/bottleneck.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"

#include "millrace/base/text.h"
#include "millrace/profile/facts.h"

namespace millrace::profile {
namespace {

constexpr double kMostly = 0.75;
constexpr double kHardly = 0.05;

double Share(absl::Duration part, absl::Duration whole) {
  return whole <= absl::ZeroDuration() ? 0 : absl::FDivDuration(part, whole);
}

std::string Percent(double share) { return absl::StrFormat("%.0f%%", 100 * share); }

const OperatorFacts& Busiest(const PassFacts& facts) {
  return *std::ranges::max_element(facts.operators, {}, &OperatorFacts::busy);
}

Bottleneck OfConsumer(const PassFacts& facts) {
  return {
      .kind = Bottleneck::Kind::kConsumer,
      .name = "",
      .reason = base::StrCat("the consumer waited for data only ",
                             Percent(Share(facts.waited, facts.wall)), " of the time"),
      .advice = "nothing: data is ready before it is wanted"};
}

Bottleneck OfCompute(const PassFacts& facts, double busy) {
  const OperatorFacts& busiest = Busiest(facts);
  absl::Duration all;
  for (const OperatorFacts& facts_of : facts.operators) all += facts_of.busy;
  return {.kind = Bottleneck::Kind::kCompute,
          .name = busiest.name,
          .reason = base::StrCat("all ", facts.threads, " threads work ", Percent(busy),
                                 " of the time, ", Percent(Share(busiest.busy, all)),
                                 " of it in ", busiest.name),
          .advice =
              base::StrCat("more threads or workers, or less work in ", busiest.name)};
}

Bottleneck OfStorage(const PassFacts& facts, double fetching) {
  return {
      .kind = Bottleneck::Kind::kStorage,
      .name = facts.operators.front().name,
      .reason = base::StrCat("the ", facts.io_threads, " I/O threads wait for disks ",
                             Percent(fetching), " of the time"),
      .advice = "faster storage, more I/O threads, or a cache"};
}

Bottleneck OfOperator(const OperatorFacts& slow, double share) {
  return {.kind = Bottleneck::Kind::kInOrder,
          .name = slow.name,
          .reason = base::StrCat(slow.name, " needs rows in order, and works ",
                                 Percent(share), " of the time"),
          .advice = base::StrCat("move work out of ", slow.name,
                                 ", or let it see fewer or smaller rows")};
}

}  // namespace

double Utilisation(const PassFacts& facts) {
  absl::Duration busy;
  for (const OperatorFacts& of : facts.operators) busy += of.busy;
  return Share(busy, facts.wall * facts.threads);
}

Bottleneck FindBottleneck(const PassFacts& facts) {
  if (facts.operators.empty() || facts.wall <= absl::ZeroDuration()) return {};
  if (Share(facts.waited, facts.wall) < kHardly) return OfConsumer(facts);
  const double busy = Utilisation(facts);
  if (busy > kMostly) return OfCompute(facts, busy);
  const double fetching = Share(facts.fetching, facts.wall * facts.io_threads);
  if (fetching > kMostly) return OfStorage(facts, fetching);
  for (const OperatorFacts& of : facts.operators) {
    const double share = Share(of.busy, facts.wall);
    if (!of.row_wise && share > kMostly) return OfOperator(of, share);
  }
  return {.kind = Bottleneck::Kind::kNone,
          .name = "",
          .reason = base::StrCat("threads work ", Percent(busy), " of the time"),
          .advice = "run for longer: nothing stands out"};
}

}  // namespace millrace::profile
