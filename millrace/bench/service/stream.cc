// One worker that has its batches ready and one consumer, beside plain TCP.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/stream_options.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/service/raw_stream.h"
#include "millrace/bench/usage.h"
#include "millrace/bench/workload.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"

namespace millrace::bench {
namespace {

// Of a pass: more than is ever read, in lanes as large as those of so much data are.
constexpr int64_t kPassBytes = int64_t{1} << 36;
// What may wait on the way when the clock starts, twice.
constexpr int64_t kFirstBytes = int64_t{256} << 20;

struct Size {
  std::string name;
  int64_t bytes = 0;
  double bar = 0;  // Of the rate.
  http::PayloadSums sums = http::PayloadSums::kBetweenHosts;
};

std::vector<Size> Sizes() {
  constexpr auto kAlways = http::PayloadSums::kAlways;
  return {{"64 KiB batches", 64 << 10, 0.5},
          {"1 MB batches", 1'000'000, 0.8},
          {"10 MB batches", 10'000'000, 0.8},
          {"40 MB batches", 40'000'000, 0.8},
          {"1 MB, summed as between hosts", 1'000'000, 0.8, kAlways},
          {"40 MB, summed as between hosts", 40'000'000, 0.8, kAlways}};
}

Amount AmountOf(const Size& size, bool quick) {
  const int64_t bytes = quick ? 400'000'000 : 2'000'000'000;
  return {.message_bytes = size.bytes,
          .messages = bytes / size.bytes,
          .first = std::max<int64_t>(2, kFirstBytes / size.bytes)};
}

absl::Status Take(client::Consumer& consumer, int64_t batches) {
  for (int64_t i = 0; i < batches; ++i) {
    const std::optional<core::Block> batch = TRY(consumer.Next());
    if (!batch) TRY(consumer.Next());
  }
  return absl::OkStatus();
}

absl::StatusOr<Moved> MoveBatches(client::Consumer& consumer, const Amount& amount) {
  TRY(Take(consumer, amount.first));
  const absl::Duration begin = base::RealClock().Monotonic();
  const double cpu = CpuSeconds();
  TRY(Take(consumer, amount.messages));
  const double seconds = absl::ToDoubleSeconds(base::RealClock().Monotonic() - begin);
  const auto bytes = static_cast<double>(amount.message_bytes * amount.messages);
  return Moved{bytes / seconds, (CpuSeconds() - cpu) / (bytes * 1e-9)};
}

// Several measurements of one thing.
class Series {
 public:
  void Add(const Moved& moved) {
    rates_.push_back(moved.bytes_per_second);
    costs_.push_back(moved.cpu_seconds_per_gigabyte);
  }

  double rate() const { return Median(rates_); }

  double cost() const { return Median(costs_); }

 private:
  std::vector<double> rates_;
  std::vector<double> costs_;
};

absl::StatusOr<std::vector<Line>> RunSize(const Size& size,
                                          const BenchOptions& options) {
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.sums = size.sums}));
  const std::unique_ptr<client::Consumer> consumer = TRY(service->Read(
      {.pipeline = base::StrCat(
           "millrace 1\n%0 = range(start=0, stop=", kPassBytes / size.bytes,
           ")\n%1 = batch(%0, size=1)\n%2 = map(%1, function={x: ready(.value, bytes=",
           size.bytes, ")})\n")}));
  const Amount amount = AmountOf(size, options.quick);
  Series ours;
  Series raw;
  for (int i = 0; i < options.repeats; ++i) {
    ours.Add(TRY(MoveBatches(*consumer, amount)));
    raw.Add(TRY(MoveRaw(amount)));
  }
  return std::vector<Line>{{.name = base::StrCat("stream, ", size.name),
                            .unit = "bytes/s",
                            .ours = ours.rate(),
                            .limit = raw.rate(),
                            .limit_is = "plain TCP",
                            .bar = size.bar},
                           {.name = base::StrCat("CPU, ", size.name),
                            .unit = "CPU seconds per GB, both ends",
                            .ours = ours.cost(),
                            .limit = raw.cost(),
                            .limit_is = "plain TCP",
                            .bar = 1.5,
                            .at_most = true}};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunServiceStream(const BenchOptions& options) {
  std::vector<Line> lines;
  for (const Size& size : Sizes()) {
    for (Line& line : TRY(RunSize(size, options))) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace millrace::bench
