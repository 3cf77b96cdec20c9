// Batches of several sizes from a process to another, in shared memory, as workers hand
// them to consumers: over a real stream, with real frames.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/base/bounded_queue.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/child_process.h"
#include "millrace/bench/workload.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/large_shared_allocator.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/shared_host.h"
#include "millrace/transport/shared_reader.h"
#include "millrace/transport/shared_writer.h"

namespace millrace::bench {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kMegabyte = 1'000'000;
constexpr int64_t kWord = sizeof(uint64_t);
constexpr int kAhead = 2;   // Batches that wait meanwhile.
constexpr int kFirst = 10;  // Not measured: memory is mapped.
constexpr int kTurn = 60;   // Batches that are read before it is the other's turn.

core::Block BlockOf(core::Buffer values) {
  const int64_t rows = values.size();
  std::vector<core::Column> columns;
  columns.push_back(
      core::Column::Dense(core::DType::kUint8, rows, {}, std::move(values)));
  return {rows, {"x"}, std::move(columns)};
}

// Gives memory that comes back and is given again; written once, as all memory is that
// batches are in.
class WrittenMemory {
 public:
  explicit WrittenMemory(std::unique_ptr<core::Allocator> allocator)
      : pool_(std::move(allocator), {}) {}

  core::Buffer Get(int64_t bytes) {
    core::Buffer memory = pool_.Allocate(bytes).value();
    if (written_.emplace(memory.data(), bytes).second) {
      std::memset(memory.mutable_data(), 0, bytes);
    }
    return memory;
  }

 private:
  core::Pool pool_;
  std::set<std::pair<const std::byte*, int64_t>> written_;
};

// --- The process that writes ---

void Send(WrittenMemory& memory, transport::SharedWriter& writer,
          const std::string& asked) {
  int64_t bytes = 0;
  CHECK(absl::SimpleAtoi(asked, &bytes));
  frames::Frame frame = frames::Encode(BlockOf(memory.Get(bytes)), core::HeapPool(),
                                       frames::Summed::kHead)
                            .value();
  const int64_t now = absl::ToInt64Nanoseconds(base::RealClock().Monotonic());
  writer.Send({base::StrCat(now), std::move(frame)});
}

// Sends a batch of so many bytes for each message, with the time at which it did. A
// stream's memory is written once; then it comes back and goes out again.
transport::ChannelEvents SendTo(const std::shared_ptr<transport::SharedHost>& host,
                                const std::shared_ptr<transport::Channel>& channel) {
  const auto memory = std::make_shared<WrittenMemory>(core::MakeLargeSharedAllocator());
  const auto writer = std::make_shared<transport::SharedWriter>(host, channel);
  return writer->Wrap({.on_message =
                           [memory, writer](const transport::Received& asked) {
                             Send(*memory, *writer, asked.head);
                           },
                       .on_closed = [](const absl::Status&) {}});
}

// Serves until it is killed.
void Serve(Lines& lines) {
  const auto host =
      std::make_shared<transport::SharedHost>(transport::SharedHostOptions{});
  http::Router router;
  router.Channel("/batches", [&](const http::Request&, const auto& channel) {
    return SendTo(host, channel);
  });
  const absl::StatusOr<std::unique_ptr<http::Server>> server =
      http::Server::Start({}, std::move(router));
  CHECK(server.ok());
  CHECK(lines.Tell(base::StrCat((*server)->port())).ok());
  (void)lines.Hear(absl::Hours(1));
}

// --- The process that reads ---

struct Arrived {
  core::Block block;
  absl::Duration took;
};

class Reader {
 public:
  static absl::StatusOr<std::unique_ptr<Reader>> Connect(int port) {
    std::unique_ptr<Reader> reader(new Reader());
    reader->client_ = TRY(http::Client::Make({}));
    reader->channel_ =
        std::make_shared<transport::SharedReader>(transport::SharedReaderOptions{});
    transport::ChannelEvents events;
    events.on_message = [to = reader.get()](const transport::Received& received) {
      to->Take(received);
    };
    events.on_closed = [to = reader.get()](const absl::Status&) {
      to->arrived_.Cancel();
    };
    reader->channel_->Begin(reader->client_->OpenChannel(
        {.address = {"127.0.0.1", port}, .path = "/batches"},
        reader->channel_->Wrap(events)));
    reader->channel_->Offer();
    const absl::Time deadline = base::RealClock().Now() + absl::Seconds(10);
    while (!reader->channel_->shared_stats().sharing) {
      if (base::RealClock().Now() < deadline) continue;
      return absl::UnavailableError(
          base::StrCat("no memory is shared: ", reader->channel_->shared_stats().note));
    }
    return reader;
  }

  ~Reader() { client_.reset(); }

  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void Ask(int64_t bytes) { channel_->Send({.head = base::StrCat(bytes)}); }

  absl::StatusOr<Arrived> Next() {
    return arrived_.Pop(base::RealClock().Now() + absl::Minutes(1));
  }

  // Of bodies; the heads of frames are sent in any case.
  int64_t copied_bytes() const {
    return channel_->shared_stats().copied_bytes - head_bytes_;
  }

  int64_t shared_bytes() const { return channel_->shared_stats().shared_bytes; }

 private:
  Reader() : arrived_(kAhead + 1) {}

  void Take(const transport::Received& received) {
    absl::StatusOr<core::Block> block =
        received.parts.empty() ? frames::Decode(received.payload, frames::Summed::kHead)
                               : frames::DecodeParts(received.payload, received.parts);
    int64_t sent = 0;
    CHECK(block.ok());
    CHECK(absl::SimpleAtoi(received.head, &sent));
    if (!received.parts.empty()) head_bytes_ += received.payload.size();
    const absl::Duration now = base::RealClock().Monotonic();
    arrived_.TryPush({*std::move(block), now - absl::Nanoseconds(sent)});
  }

  std::unique_ptr<http::Client> client_;
  std::shared_ptr<transport::SharedReader> channel_;
  std::atomic<int64_t> head_bytes_ = 0;
  base::BoundedQueue<Arrived> arrived_;
};

// The median time that a batch takes to be there, one at a time.
absl::StatusOr<double> Latency(Reader& reader, int64_t bytes, int count) {
  std::vector<double> seconds;
  for (int i = 0; i < kFirst + count; ++i) {
    reader.Ask(bytes);
    const Arrived arrived = TRY(reader.Next());
    if (i >= kFirst) seconds.push_back(absl::ToDoubleSeconds(arrived.took));
  }
  return Median(std::move(seconds));
}

// --- Reading ---

// Where batches come from: asked for ahead, taken one by one.
struct Source {
  absl::FunctionRef<void(int64_t bytes)> ask;
  absl::FunctionRef<absl::StatusOr<Arrived>()> next;
};

// How a reader looks at a batch.
struct Look {
  std::string name;
  int64_t bytes = 0;  // Of a batch.
  int64_t step = 0;   // From one word that is read to the next.
};

uint64_t Read(const core::Buffer& values, int64_t step) {
  uint64_t sum = 0;
  for (int64_t at = 0; at + kWord <= values.size(); at += step) {
    uint64_t word = 0;
    std::memcpy(&word, values.data() + at, kWord);
    sum += word;
  }
  return sum;
}

// Bytes of batches that were read, for each second.
absl::StatusOr<double> ReadAll(const Source& source, const Look& look, int count) {
  for (int i = 0; i < kAhead; ++i) source.ask(look.bytes);
  uint64_t sum = 0;
  absl::Duration begin;
  for (int i = 0; i < kFirst + count; ++i) {
    if (i == kFirst) begin = base::RealClock().Monotonic();
    const Arrived arrived = TRY(source.next());
    if (i + kAhead < kFirst + count) source.ask(look.bytes);
    sum += Read(arrived.block.columns()[0].values(), look.step);
  }
  CHECK_EQ(sum, 0U);  // Nobody has written to them.
  const double seconds = absl::ToDoubleSeconds(base::RealClock().Monotonic() - begin);
  return static_cast<double>(look.bytes) * count / seconds;
}

// What came through streams.
struct Carried {
  int64_t copied_bytes = 0;
  int64_t shared_bytes = 0;

  void Add(const Reader& reader) {
    copied_bytes += reader.copied_bytes();
    shared_bytes += reader.shared_bytes();
  }
};

// Both sides read memory that is new each time: where its pages happen to lie makes a
// tenth of the rate.
absl::StatusOr<double> ReadShared(int port, const Look& look, int count,
                                  Carried& carried) {
  const std::unique_ptr<Reader> reader = TRY(Reader::Connect(port));
  const auto ask = [&](int64_t bytes) { reader->Ask(bytes); };
  const auto next = [&] { return reader->Next(); };
  const absl::StatusOr<double> rate = ReadAll({ask, next}, look, count);
  carried.Add(*reader);
  return rate;
}

// The same loop, whose batches another thread of this process hands over.
absl::StatusOr<double> ReadOwn(const Look& look, int count) {
  WrittenMemory memory(core::MakeHeapAllocator());
  base::BoundedQueue<int64_t> asked(kAhead + 1);
  base::BoundedQueue<Arrived> made(kAhead + 1);
  const std::jthread maker([&](const std::stop_token& stop) {
    while (true) {
      const absl::StatusOr<int64_t> bytes = asked.Pop(absl::InfiniteFuture(), stop);
      if (!bytes.ok()) return;
      made.TryPush({BlockOf(memory.Get(*bytes)), absl::ZeroDuration()});
    }
  });
  const auto ask = [&](int64_t bytes) { asked.TryPush(int64_t{bytes}); };
  const auto next = [&] {
    return made.Pop(base::RealClock().Now() + absl::Minutes(1));
  };
  const absl::StatusOr<double> rate = ReadAll({ask, next}, look, count);
  asked.Cancel();
  return rate;
}

absl::StatusOr<std::vector<Line>> Latencies(int port, const BenchOptions& options,
                                            Carried& carried) {
  const std::unique_ptr<Reader> reader = TRY(Reader::Connect(port));
  std::vector<Line> lines;
  const int count = options.quick ? 100 : 500;
  double first = 0;
  for (const int64_t megabytes : {1, 16, 64, 256}) {
    const double seconds = TRY(MedianOf(options.repeats, [&] {
      return Latency(*reader, megabytes * kMegabyte, count);
    }));
    lines.push_back({.name = base::StrCat("hand-over, ", megabytes, " MB batches"),
                     .unit = "microseconds from send to receipt",
                     .ours = seconds * 1e6,
                     .limit = 100,
                     .limit_is = "the bar",
                     .bar = 1,
                     .at_most = true});
    if (megabytes == 1) first = seconds;
    if (megabytes == 1) continue;
    lines.push_back({.name = base::StrCat("the same beside 1 MB, ", megabytes, " MB"),
                     .unit = "microseconds",
                     .ours = seconds * 1e6,
                     .limit = first * 1e6,
                     .limit_is = "1 MB",
                     .bar = 1.25,
                     .at_most = true});
  }
  carried.Add(*reader);
  return lines;
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunSharingHandOver(const BenchOptions& options) {
  const std::unique_ptr<ChildProcess> child = TRY(ChildProcess::Start(Serve));
  int port = 0;
  const std::string line = TRY(child->lines().Hear());
  if (!absl::SimpleAtoi(line, &port)) return absl::InternalError("no port was told");
  Carried carried;
  std::vector<Line> lines = TRY(Latencies(port, options, carried));
  const std::vector<Look> looks = {
      {"every page touched, 256 MB batches", 256 * kMegabyte, kPage},
      {"every byte read, 64 MB batches", 64 * kMegabyte, kWord}};
  for (const Look& look : looks) {
    // Many short ones, by turns: how fast memory is changes from second to second.
    const int turns = options.repeats * (options.quick ? 1 : 5);
    const Medians read = TRY(Compare(
        turns, [&] { return ReadShared(port, look, kTurn, carried); },
        [&] { return ReadOwn(look, kTurn); }));
    lines.push_back({.name = look.name,
                     .unit = "bytes/s",
                     .ours = read.ours,
                     .limit = read.limit,
                     .limit_is = "the same loop, fed by a thread of this process",
                     .bar = 0.95});
  }
  lines.push_back({.name = "bytes copied, all of these",
                   .unit = "bytes of bodies",
                   .ours = static_cast<double>(carried.copied_bytes),
                   .limit = static_cast<double>(carried.shared_bytes),
                   .limit_is = "bytes handed over",
                   .bar = 0,
                   .at_most = true});
  return lines;
}

}  // namespace millrace::bench
