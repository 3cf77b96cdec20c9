// Coordinated reads: consumers that step together, as in data-parallel training, where
// a step takes as long as the longest padded batch of its round. Rows have lengths
// alone: log-normal, of which e to the power of a normal number with mean 5 and
// deviation 1 is the length, cut to 1 ... 4096 (median 148, mean 244). Buckets end at
// lengths 1.25 apart, and batches are padded to their bucket's end.
//
// Uncoordinated: the same buckets, of which each consumer has whichever comes. The
// bound: what would be reached if every batch shared its round with batches as long as
// itself, and nothing but steps took time: rows taken, over the mean padded length of
// all batches that were taken times the time for each length times the rounds.

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/workload.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"

namespace millrace::bench {
namespace {

constexpr int64_t kConsumers = 8;
constexpr int64_t kBatchRows = 4;
constexpr int64_t kLongest = 4096;
constexpr int64_t kWarmRounds = 16;
constexpr absl::Duration kStepOfLength = absl::Microseconds(100);

std::vector<int64_t> UpTo() {
  std::vector<int64_t> up_to;
  for (double end = 16; end < kLongest; end *= 1.25) {
    up_to.push_back(static_cast<int64_t>(end));
  }
  up_to.push_back(kLongest);
  return up_to;
}

std::string PipelineOf(bool coordinated) {
  return base::StrCat(
      "millrace 1\n"
      "%0 = range(start=0, stop=16777216)\n"
      "%1 = map(%0, function={length: cast(clip(exp(normal(5.0, 1.0)), 1.0, ",
      kLongest,
      ".0), dtype=\"int64\")})\n"
      "%2 = bucket(%1, length={.length}, up_to=[",
      absl::StrJoin(UpTo(), ", "), "], sizes=[", kBatchRows, "], ",
      coordinated ? base::StrCat("group=", kConsumers) : "per_lane=true", ")\n");
}

// What one consumer did in the rounds that count.
struct Done {
  absl::Status status = {};
  int64_t rows = 0;
  int64_t lengths = 0;  // Padded ones, of all its batches.
};

// Takes a batch and steps, once everybody has stepped; the warm rounds are not counted.
absl::Status Step(client::Consumer& consumer, bool counts, Done& done) {
  static const std::vector<int64_t>& ends = *new std::vector<int64_t>(UpTo());
  const std::optional<core::Block> batch = TRY(consumer.Next());
  if (!batch) return absl::OutOfRangeError("there are too few rows");
  const absl::Span<const int64_t> lengths = batch->columns().at(0).As<int64_t>();
  const int64_t longest = *std::ranges::max_element(lengths);
  const int64_t padded = *std::ranges::lower_bound(ends, longest);
  base::RealClock().WaitFor(kStepOfLength * padded, std::stop_token());
  if (!counts) return absl::OkStatus();
  done.rows += std::ssize(lengths);
  done.lengths += padded;
  return absl::OkStatus();
}

struct Measured {
  double rate = 0;   // Rows per second, of all consumers.
  double bound = 0;  // The most that batches like these allow.
};

absl::StatusOr<Measured> Train(LocalService& service, bool coordinated, int64_t rounds,
                               int64_t number) {
  std::vector<std::unique_ptr<client::Consumer>> consumers(kConsumers);
  std::vector<Done> done(kConsumers);
  std::barrier barrier(kConsumers);
  absl::Duration begin;
  const auto run = [&](int64_t i) {
    Reading reading{.pipeline = PipelineOf(coordinated), .consumer = i};
    reading.settings.name =
        base::StrCat(coordinated ? "coordinated " : "each ", number);
    reading.settings.consumers = kConsumers;
    reading.settings.remainder = "drop";
    reading.settings.seed = 7;
    auto opened = OpenJob(service.address(), reading);
    done[i].status = opened.status();
    if (opened.ok()) consumers[i] = *std::move(opened);
    for (int64_t round = -kWarmRounds; round < rounds; ++round) {
      barrier.arrive_and_wait();
      if (i == 0 && round == 0) begin = base::RealClock().Monotonic();
      if (done[i].status.ok()) {
        done[i].status = Step(*consumers[i], round >= 0, done[i]);
      }
    }
    barrier.arrive_and_wait();
  };
  std::vector<std::jthread> threads;
  for (int64_t i = 1; i < kConsumers; ++i) threads.emplace_back(run, i);
  run(0);
  const double seconds = absl::ToDoubleSeconds(base::RealClock().Monotonic() - begin);
  threads.clear();
  int64_t rows = 0;
  int64_t lengths = 0;
  for (const Done& one : done) {
    TRY(one.status);
    rows += one.rows;
    lengths += one.lengths;
  }
  const double steps =
      absl::ToDoubleSeconds(kStepOfLength) * static_cast<double>(lengths) / kConsumers;
  return Measured{static_cast<double>(rows) / seconds,
                  static_cast<double>(rows) / steps};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunSharingCoordinated(const BenchOptions& options) {
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = 2}));
  const int64_t rounds = options.quick ? 50 : 200;
  std::vector<double> bounds;
  int64_t number = 0;
  const auto train = [&](bool coordinated) -> absl::StatusOr<double> {
    const Measured measured = TRY(Train(*service, coordinated, rounds, ++number));
    if (coordinated) bounds.push_back(measured.bound);
    return measured.rate;
  };
  const Medians medians = TRY(Compare(
      options.repeats, [&] { return train(true); }, [&] { return train(false); }));
  const std::string unit = "rows/s, 8 consumers in step, log-normal lengths (5, 1)";
  return std::vector<Line>{{.name = "coordinated reads",
                            .unit = unit,
                            .ours = medians.ours,
                            .limit = medians.limit,
                            .limit_is = "each consumer by itself",
                            .bar = 2},
                           {.name = "coordinated reads, of the bound",
                            .unit = unit,
                            .ours = medians.ours,
                            .limit = Median(bounds),
                            .limit_is = "every round of one length, steps alone",
                            .bar = 0.9}};
}

}  // namespace millrace::bench
